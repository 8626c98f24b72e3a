#include "core/params.hpp"

#include <charconv>

#include "core/error.hpp"

namespace autospmv {

std::optional<Params> Params::parse(std::string_view text) {
  Params params;
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const auto equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos) return std::nullopt;
    const auto digits = word.substr(equals + 1);
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    if (!params.values_.emplace(word.substr(0, equals), value).second) return std::nullopt;
  }
  return params;
}

std::optional<std::int64_t> Params::find(const std::string& name) const {
  const auto at = values_.find(name);
  if (at == values_.end()) return std::nullopt;
  return at->second;
}

std::int64_t Params::operator[](const std::string& name) const {
  const auto value = find(name);
  if (!value) throw InvalidArgument("parameter '" + name + "' is missing from '" + text() + "'");
  return *value;
}

std::string Params::text() const {
  std::string text;
  for (const auto& [name, value] : values_) {
    if (!text.empty()) text += ' ';
    text += name + '=' + std::to_string(value);
  }
  return text;
}

std::vector<Params> ParamSpace::combinations() const {
  std::vector<Params> all{Params{}};
  for (const auto& axis : axes_) {
    std::vector<Params> longer;
    longer.reserve(all.size() * axis.values.size());
    for (const auto& params : all) {
      for (const auto value : axis.values) {
        longer.push_back(params);
        longer.back().set(axis.name, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace autospmv
