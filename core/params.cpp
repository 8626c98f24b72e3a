#include "core/params.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <functional>
#include <limits>
#include <mutex>
#include <set>

#include "core/error.hpp"

namespace autospmv {

namespace {

// The one place of a name; nothing for a new one beside `most`. Never destroyed: parameters live in statics that go at
// any time.
std::optional<std::string_view> find_name(std::string_view name, std::size_t most) {
  static std::mutex mutex;
  static auto* const names = new std::set<std::string, std::less<>>;
  const std::scoped_lock lock(mutex);
  if (const auto at = names->find(name); at != names->end()) return *at;
  if (names->size() >= most) return std::nullopt;
  return *names->emplace(name).first;
}

// Of which there are a few dozen.
std::string_view known_name(std::string_view name) { return *find_name(name, std::numeric_limits<std::size_t>::max()); }

// What is read may name anything, and what was named stays in memory.
std::optional<std::string_view> read_name(std::string_view word) {
  constexpr std::size_t most_names = 4096;
  constexpr std::size_t longest = 32;
  const auto suits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (word.empty() || word.size() > longest || !std::all_of(word.begin(), word.end(), suits)) return std::nullopt;
  return find_name(word, most_names);
}

}  // namespace

Params::Params(std::initializer_list<std::pair<std::string_view, std::int64_t>> values) {
  for (const auto& [name, value] : values) set(name, value);
}

void Params::set(std::string_view name, std::int64_t value) { set_known({known_name(name), value}); }

// Where it is or would be.
std::size_t Params::place_of(std::string_view name) const {
  const auto all = values();
  const auto at = std::find_if(all.begin(), all.end(), [&](const Value& one) { return one.name >= name; });
  return static_cast<std::size_t>(at - all.begin());
}

void Params::insert(std::size_t place, Value value) {
  if (count_ == most) throw InvalidArgument("more than " + std::to_string(most) + " parameters");
  for (auto i = count_; i > place; --i) values_[i] = values_[i - 1];
  values_[place] = value;
  ++count_;
}

void Params::set_known(Value value) {
  const auto place = place_of(value.name);
  if (place < count_ && values_[place].same_name(value)) {
    values_[place].value = value.value;
  } else {
    insert(place, value);
  }
}

std::size_t Params::Hash::operator()(const Params& params) const noexcept {
  constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;
  std::uint64_t hash = 0;
  for (const auto& [name, value] : params.values()) {
    for (const auto word : {std::bit_cast<std::uintptr_t>(name.data()), static_cast<std::uintptr_t>(value)}) {
      hash = (hash ^ word) * golden_ratio;
      hash ^= hash >> 32;
    }
  }
  return hash;
}

bool operator==(const Params& a, const Params& b) {
  const auto left = a.values();
  const auto right = b.values();
  return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

std::strong_ordering operator<=>(const Params& a, const Params& b) {
  const auto left = a.values();
  const auto right = b.values();
  return std::lexicographical_compare_three_way(left.begin(), left.end(), right.begin(), right.end());
}

std::optional<Params> Params::parse(std::string_view text) {
  Params params;
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const auto digits = word.substr(equals + 1);
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    const auto name = read_name(word.substr(0, equals));
    if (!name || params.find(*name) || params.count_ == most) return std::nullopt;
    params.set_known({*name, value});
  }
  return params;
}

std::optional<std::int64_t> Params::find(std::string_view name) const {
  for (const auto& one : values()) {
    if (one.name == name) return one.value;
  }
  return std::nullopt;
}

std::int64_t Params::operator[](std::string_view name) const {
  const auto value = find(name);
  if (!value) throw InvalidArgument("parameter '" + std::string(name) + "' is missing from '" + text() + "'");
  return *value;
}

std::string Params::text() const {
  std::string text;
  for (const auto& [name, value] : values()) {
    if (!text.empty()) text += ' ';
    text.append(name).append(1, '=').append(std::to_string(value));
  }
  return text;
}

std::vector<Params> ParamSpace::combinations(Choices choices) const {
  std::vector<Params> all{Params{}};
  for (const auto& axis : axes_) {
    const auto name = known_name(axis.name);
    const std::span<const std::int64_t> others =
        choices == Choices::likely ? std::span<const std::int64_t>{} : axis.others;
    const auto place = all.empty() ? 0 : all.front().place_of(name);  // in each of them
    std::vector<Params> longer;
    longer.reserve(all.size() * (axis.values.size() + others.size()));
    for (const auto& params : all) {
      const auto add = [&](std::int64_t value) {
        longer.push_back(params);
        longer.back().insert(place, {name, value});
      };
      std::for_each(axis.values.begin(), axis.values.end(), add);
      std::for_each(others.begin(), others.end(), add);
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace autospmv
