#include "core/params.hpp"

#include <algorithm>
#include <charconv>

#include "core/error.hpp"

namespace autospmv {

namespace {

// Of the parameter, or of where it belongs.
template <class Values>
auto place_of(Values& values, std::string_view name) {
  return std::lower_bound(values.begin(), values.end(), name, [](const Params::Value& value, std::string_view wanted) {
    return value.first.compare(wanted) < 0;
  });
}

}  // namespace

Params::Params(std::initializer_list<Value> values) {
  values_.reserve(values.size());
  for (const auto& [name, value] : values) set(name, value);
}

void Params::set(std::string_view name, std::int64_t value) {
  const auto at = place_of(values_, name);
  if (at != values_.end() && at->first == name) {
    at->second = value;
  } else {
    values_.emplace(at, name, value);
  }
}

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
    const auto name = word.substr(0, equals);
    if (params.find(name)) return std::nullopt;
    params.set(name, value);
  }
  return params;
}

std::optional<std::int64_t> Params::find(std::string_view name) const {
  const auto at = place_of(values_, name);
  if (at == values_.end() || at->first != name) return std::nullopt;
  return at->second;
}

std::int64_t Params::operator[](std::string_view name) const {
  const auto value = find(name);
  if (!value) throw InvalidArgument("parameter '" + std::string(name) + "' is missing from '" + text() + "'");
  return *value;
}

std::string Params::text() const {
  std::string text;
  for (const auto& [name, value] : values_) {
    if (!text.empty()) text += ' ';
    text.append(name).append(1, '=').append(std::to_string(value));
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
