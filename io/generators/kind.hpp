// What a kind of generator is, and what kinds share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "core/verify/random.hpp"
#include "io/entry_values.hpp"
#include "io/generators.hpp"
#include "io/host_csr.hpp"

namespace autospmv::generators {

/// The numbers of a spec, in the order of its usage.
class Arguments {
 public:
  void add(std::int64_t integer) { numbers_.push_back({integer, static_cast<double>(integer)}); }
  void add_decimal(double decimal) { numbers_.push_back({0, decimal}); }
  void repeat() { numbers_.push_back(numbers_.back()); }

  std::int64_t operator[](std::size_t i) const { return numbers_[i].integer; }
  [[nodiscard]] double decimal(std::size_t i) const { return numbers_[i].decimal; }

 private:
  struct Number {
    std::int64_t integer;
    double decimal;
  };

  std::vector<Number> numbers_;
};

/// What a spec asks for, in floating point, where nothing overflows; nnz from above.
struct Size {
  double rows;
  double cols;
  double nnz;
};

/// One argument of a usage line.
struct Argument {
  enum class Default : std::uint8_t { none, value, previous };
  enum class Kind : std::uint8_t { integer, decimal };

  std::int64_t least = 1;
  Default otherwise = Default::none;
  std::int64_t value = 0;
  Kind kind = Kind::integer;
};

inline constexpr Argument required{};
inline constexpr Argument required_or_zero{.least = 0};
inline constexpr Argument required_decimal{.least = 0, .kind = Argument::Kind::decimal};
inline constexpr Argument like_previous{.otherwise = Argument::Default::previous};
inline constexpr Argument seed_argument{.least = 0, .otherwise = Argument::Default::value, .value = 1};

template <class T>
using Make = HostCsr<T> (*)(const Arguments&);

struct Generator {
  GeneratorInfo info;
  std::vector<Argument> arguments;
  Size (*size)(const Arguments&);
  std::tuple<Make<float>, Make<double>> make;
};

/// Of a kind with size(arguments) and make<T>(arguments).
template <class Kind>
Generator generator(GeneratorInfo info, std::vector<Argument> arguments) {
  return {info, std::move(arguments), Kind::size, {Kind::template make<float>, Kind::template make<double>}};
}

/// What the numbers of an entry are drawn with where the usage has no SEED.
inline constexpr std::uint64_t fixed_seed = 1;

/// Uniform in [0, size), for sizes below 2^31: exact enough, and the product never rounds up to size.
inline std::int64_t random_index(std::uint64_t seed, std::uint64_t position, std::int64_t size) {
  return static_cast<std::int64_t>(random_unit(seed, position) * static_cast<double>(size));
}

/// By what their matrices come from: grids of points or elements, random graphs, rules that fill whole rows, features.
std::vector<Generator> of_grids();
std::vector<Generator> of_graphs();
std::vector<Generator> of_full_rows();
std::vector<Generator> of_features();

}  // namespace autospmv::generators
