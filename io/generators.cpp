#include "io/generators.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "core/printable.hpp"
#include "io/generators/kind.hpp"

namespace autospmv {

namespace {

using generators::Argument;
using generators::Arguments;
using generators::Generator;

constexpr double max_dimension = std::numeric_limits<std::int32_t>::max();
constexpr double max_nnz = 0x1p40;

const std::vector<Generator>& all_generators() {
  static const auto all = [] {
    std::vector<Generator> together;
    for (const auto list :
         {generators::of_grids, generators::of_graphs, generators::of_full_rows, generators::of_features}) {
      for (auto& one : list()) together.push_back(std::move(one));
    }
    return together;
  }();
  return all;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const auto colon = text.find(':');
    words.push_back(text.substr(0, colon));
    if (colon == std::string_view::npos) return words;
    text.remove_prefix(colon + 1);
  }
}

const Generator& find_generator(std::string_view name) {
  std::string known;
  for (const auto& candidate : all_generators()) {
    if (candidate.info.name == name) return candidate;
    known += (known.empty() ? "" : ", ") + std::string(candidate.info.name);
  }
  throw InvalidArgument("no generator of this name; there are " + known);
}

// The whole of a word as a number of at least `least`; nothing else is one.
template <class Number>
Number parse_number(std::string_view word, std::int64_t least, std::string_view what) {
  Number value{};
  const auto [end, code] = std::from_chars(word.begin(), word.end(), value);
  const bool finite = std::isfinite(static_cast<double>(value));
  if (code != std::errc{} || end != word.end() || !finite || value < static_cast<Number>(least)) {
    throw InvalidArgument('\'' + printable(word) + "' is not " + std::string(what) + " of at least " +
                          std::to_string(least));
  }
  return value;
}

Arguments parse_arguments(const Generator& kind, std::span<const std::string_view> words) {
  if (words.size() > kind.arguments.size()) throw InvalidArgument("too many arguments");
  Arguments values;
  for (std::size_t i = 0; i < kind.arguments.size(); ++i) {
    const Argument& argument = kind.arguments[i];
    if (i < words.size() && argument.kind == Argument::Kind::decimal) {
      values.add_decimal(parse_number<double>(words[i], argument.least, "a number"));
    } else if (i < words.size()) {
      values.add(parse_number<std::int64_t>(words[i], argument.least, "an integer"));
    } else if (argument.otherwise == Argument::Default::none) {
      throw InvalidArgument("too few arguments");
    } else if (argument.otherwise == Argument::Default::previous) {
      values.repeat();
    } else {
      values.add(argument.value);
    }
  }
  return values;
}

// Refuses what the library cannot index and what nobody has room for, before anything is allocated.
void check_size(const generators::Size& size, std::size_t value_bytes, std::int64_t most_bytes) {
  if (size.rows > max_dimension || size.cols > max_dimension)
    throw InvalidArgument("more than 2^31 - 1 rows or columns");
  if (size.nnz > max_nnz) throw InvalidArgument("more than 2^40 nonzeros");
  const double bytes = 8 * size.rows + static_cast<double>(4 + value_bytes) * size.nnz;
  const auto room = static_cast<double>(most_bytes);
  if (bytes > room) {
    throw InvalidArgument("needs " + std::to_string(std::llround(bytes * 1e-9)) + " GB, there is room for " +
                          std::to_string(std::llround(room * 1e-9)) + " GB");
  }
}

}  // namespace

std::span<const GeneratorInfo> generator_table() {
  static const auto table = [] {
    std::vector<GeneratorInfo> infos;
    for (const auto& kind : all_generators()) infos.push_back(kind.info);
    return infos;
  }();
  return table;
}

bool is_generator(std::string_view source) { return source.starts_with("gen:"); }

template <class T>
HostCsr<T> generate(std::string_view spec, std::int64_t most_bytes) {
  const auto words = split(spec);
  std::string usage = "gen:KIND:ARGS";
  try {
    if (!is_generator(spec)) throw InvalidArgument("not a generator");
    const Generator& kind = find_generator(words[1]);
    usage = kind.info.usage;
    const Arguments args = parse_arguments(kind, std::span(words).subspan(2));
    check_size(kind.size(args), sizeof(T), most_bytes);
    return std::get<generators::Make<T>>(kind.make)(args);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(printable(spec) + ": " + error.what() + "; usage: " + usage);
  } catch (const std::bad_alloc&) {
    throw Error(printable(spec) + ": out of memory");
  }
}

template HostCsr<float> generate(std::string_view, std::int64_t);
template HostCsr<double> generate(std::string_view, std::int64_t);

}  // namespace autospmv
