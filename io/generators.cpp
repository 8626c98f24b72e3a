#include "io/generators.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/parallel.hpp"
#include "core/printable.hpp"
#include "core/random.hpp"
#include "io/assemble.hpp"
#include "io/twin.hpp"

namespace autospmv {

namespace {

constexpr double max_dimension = std::numeric_limits<std::int32_t>::max();
constexpr double max_nnz = 0x1p40;

// What the numbers of an entry are drawn with where the usage has no SEED.
constexpr std::uint64_t fixed_seed = 1;

template <class T>
T real_value(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    return {static_cast<typename T::value_type>(value), 0};
  }
}

// The position of an entry as that of a random number.
std::uint64_t place_of(std::int64_t row, std::int64_t col) {
  return static_cast<std::uint64_t>(row) << 32 | static_cast<std::uint64_t>(col);
}

// Uniform in [0, size), for sizes below 2^31: exact enough, and the product never rounds up to size.
std::int64_t random_index(std::uint64_t seed, std::uint64_t position, std::int64_t size) {
  return static_cast<std::int64_t>(random_unit(seed, position) * static_cast<double>(size));
}

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

// -a (u_xx + u_yy + u_zz) + b (u_x + u_y + u_z) on the unit cube, u = 0 outside, by centred differences on N^3 inner
// points (Barbieri, Cardellini, Fanfarillo, Filippone, "Three storage formats for sparse matrices on GPGPUs", 2015, 5).
struct Pde {
  static Size size(const Arguments& args) {
    const double n = static_cast<double>(args[0]);
    return {n * n * n, n * n * n, 7 * n * n * n};
  }

  template <class T>
  static HostCsr<T> make(const Arguments& args) {
    const std::int64_t n = args[0];
    const double diffusion = 1.0 / 80;
    const double convection = 1 / std::sqrt(3.0);
    const double h = 1 / static_cast<double>(n + 1);
    const T diagonal = real_value<T>(6 * diffusion / (h * h));
    const T upwind = real_value<T>(-diffusion / (h * h) - convection / (2 * h));
    const T downwind = real_value<T>(-diffusion / (h * h) + convection / (2 * h));
    return detail::assemble_rows<T>(n * n * n, n * n * n, [=](std::int64_t r, const auto& visit) {
      const std::int64_t z = r % n;
      const std::int64_t y = r / n % n;
      const std::int64_t x = r / (n * n);
      if (x > 0) visit(r - n * n, upwind);
      if (y > 0) visit(r - n, upwind);
      if (z > 0) visit(r - 1, upwind);
      visit(r, diagonal);
      if (z < n - 1) visit(r + 1, downwind);
      if (y < n - 1) visit(r + n, downwind);
      if (x < n - 1) visit(r + n * n, downwind);
    });
  }
};

// The pattern of trilinear hexahedra: every node meets the 27 nodes of the 8 elements around it, all unknowns of both.
// Symmetric values in (-1, 1) off the diagonal, and a diagonal that outweighs them: positive definite.
struct Fem {
  static Size size(const Arguments& args) {
    const double n = static_cast<double>(args[0]);
    const double unknowns = static_cast<double>(args[1]);
    return {n * n * n * unknowns, n * n * n * unknowns, 27 * n * n * n * unknowns * unknowns};
  }

  template <class T>
  static HostCsr<T> make(const Arguments& args) {
    const std::int64_t n = args[0];
    const std::int64_t unknowns = args[1];
    const std::int64_t rows = n * n * n * unknowns;
    return detail::assemble_rows<T>(rows, rows, [=](std::int64_t r, const auto& visit) {
      const std::int64_t node = r / unknowns;
      const std::int64_t z = node % n;
      const std::int64_t y = node / n % n;
      const std::int64_t x = node / (n * n);
      for (std::int64_t i = std::max<std::int64_t>(0, x - 1); i <= std::min(n - 1, x + 1); ++i) {
        for (std::int64_t j = std::max<std::int64_t>(0, y - 1); j <= std::min(n - 1, y + 1); ++j) {
          for (std::int64_t k = std::max<std::int64_t>(0, z - 1); k <= std::min(n - 1, z + 1); ++k) {
            const std::int64_t first = ((i * n + j) * n + k) * unknowns;
            for (std::int64_t c = first; c < first + unknowns; ++c) visit(c, value<T>(r, c, 27 * unknowns));
          }
        }
      }
    });
  }

 private:
  template <class T>
  static T value(std::int64_t row, std::int64_t col, std::int64_t most_npr) {
    const double number = random_value(fixed_seed, place_of(std::min(row, col), std::max(row, col)));
    return real_value<T>(row == col ? static_cast<double>(most_npr) + number : number);
  }
};

struct Grid2d {
  static Size size(const Arguments& args) {
    const double n = static_cast<double>(args[0]);
    return {n * n, n * n, 5 * n * n};
  }

  template <class T>
  static HostCsr<T> make(const Arguments& args) {
    const std::int64_t n = args[0];
    return detail::assemble_rows<T>(n * n, n * n, [n](std::int64_t r, const auto& visit) {
      const std::int64_t y = r % n;
      const std::int64_t x = r / n;
      if (x > 0) visit(r - n, T{-1});
      if (y > 0) visit(r - 1, T{-1});
      visit(r, T{4});
      if (y < n - 1) visit(r + 1, T{-1});
      if (x < n - 1) visit(r + n, T{-1});
    });
  }
};

// Chakrabarti, Zhan, Faloutsos, "R-MAT: a recursive model for graph mining", 2004: an edge falls into one quadrant of
// the matrix, one quadrant of that, and so on.
struct Rmat {
  static Size size(const Arguments& args) {
    const double rows = std::exp2(static_cast<double>(args[0]));
    return {rows, rows, rows * static_cast<double>(args[1])};
  }

  template <class T>
  static HostCsr<T> make(const Arguments& args) {
    const int scale = static_cast<int>(args[0]);
    const std::int64_t rows = std::int64_t{1} << scale;
    const std::int64_t edges = rows * args[1];
    const auto seed = static_cast<std::uint64_t>(args[2]);
    constexpr std::int64_t edges_per_part = std::int64_t{1} << 20;
    const std::int64_t parts = (edges + edges_per_part - 1) / edges_per_part;
    auto graph = detail::assemble_csr<T>(rows, rows, parts, [=](std::int64_t part, const auto& visit) {
      const std::int64_t last = std::min(edges, (part + 1) * edges_per_part);
      for (std::int64_t e = part * edges_per_part; e < last; ++e) visit_edge<T>(scale, seed, e, visit);
    });
    return detail::without_duplicates(graph);
  }

 private:
  static constexpr double a = 0.57;
  static constexpr double b = 0.19;
  static constexpr double c = 0.19;

  // 32 random bits choose a quadrant, so that one draw lasts for two levels.
  static constexpr std::uint32_t threshold(double probability) {
    return static_cast<std::uint32_t>(probability * 0x1p32);
  }

  template <class T, class Visit>
  static void visit_edge(int scale, std::uint64_t seed, std::int64_t edge, const Visit& visit) {
    const auto draws = static_cast<std::uint64_t>((scale + 1) / 2);
    std::int64_t row = 0;
    std::int64_t col = 0;
    std::uint64_t bits = 0;
    for (int level = 0; level < scale; ++level) {
      const auto half = static_cast<std::uint64_t>(level / 2);
      bits = level % 2 == 0 ? random_bits(seed, static_cast<std::uint64_t>(edge) * draws + half) : bits >> 32;
      const auto draw = static_cast<std::uint32_t>(bits);
      const bool right = (draw >= threshold(a)) != (draw >= threshold(a + b)) || draw >= threshold(a + b + c);
      row = row << 1 | static_cast<std::int64_t>(draw >= threshold(a + b));
      col = col << 1 | static_cast<std::int64_t>(right);
    }
    visit(row, col, T{1});
  }
};

struct Uniform {
  static Size size(const Arguments& args) {
    const double rows = static_cast<double>(args[0]);
    return {rows, static_cast<double>(args[1]), rows * static_cast<double>(args[2])};
  }

  template <class T>
  static HostCsr<T> make(const Arguments& args) {
    const auto rows = args[0];
    const auto cols = args[1];
    const auto npr = args[2];
    const auto seed = static_cast<std::uint64_t>(args[3]);
    if (npr > cols) throw InvalidArgument("a row has no more nonzeros than columns");
    HostCsr<T> matrix{rows, cols, std::vector<std::int64_t>(rows + 1), std::vector<std::int32_t>(rows * npr),
                      std::vector<T>(rows * npr)};
    for (std::int64_t r = 0; r <= rows; ++r) matrix.row_ptr[r] = r * npr;
    parallel_region(rows * npr, [&](int thread, int threads) {
      const auto share = share_of(rows, thread, threads);
      for (std::int64_t r = share.first; r < share.last; ++r) {
        const std::span row(matrix.col_idx.begin() + r * npr, static_cast<std::size_t>(npr));
        const std::uint64_t row_seed = random_bits(seed, static_cast<std::uint64_t>(r));
        if (npr > cols / 2) {
          select_columns(row, cols, row_seed);
        } else {
          draw_columns(row, cols, row_seed);
        }
        for (std::int64_t k = r * npr; k < (r + 1) * npr; ++k) {
          matrix.values[k] = real_value<T>(random_value(seed, place_of(r, matrix.col_idx[k])));
        }
      }
    });
    return matrix;
  }

 private:
  // Draws again for what was drawn twice; fast where few of the columns are wanted.
  static void draw_columns(std::span<std::int32_t> row, std::int64_t cols, std::uint64_t seed) {
    std::uint64_t draws = 0;
    for (auto missing = row.begin(); missing != row.end();) {
      std::generate(missing, row.end(), [&] { return static_cast<std::int32_t>(random_index(seed, draws++, cols)); });
      std::sort(row.begin(), row.end());
      missing = std::unique(row.begin(), row.end());
    }
  }

  // Selection sampling (Knuth, "The art of computer programming" 2, 3.4.2, algorithm S): looks at every column once.
  static void select_columns(std::span<std::int32_t> row, std::int64_t cols, std::uint64_t seed) {
    std::size_t selected = 0;
    for (std::int64_t col = 0; selected < row.size(); ++col) {
      const auto draw = random_index(seed, static_cast<std::uint64_t>(col), cols - col);
      if (draw < static_cast<std::int64_t>(row.size() - selected)) row[selected++] = static_cast<std::int32_t>(col);
    }
  }
};

// A circuit: every node has an element to a few others, nearly all of them close by, and a few supply nets reach one
// node in eight each. An element couples both of its nodes, so the pattern is symmetric, the values are not.
struct Circuit {
  static Size size(const Arguments& args) {
    const double n = static_cast<double>(args[0]);
    return {n, n, n * (1 + 2 * elements + static_cast<double>(supplies) / 4)};
  }

  template <class T>
  static HostCsr<T> make(const Arguments& args) {
    const std::int64_t n = args[0];
    const auto seed = static_cast<std::uint64_t>(args[1]);
    constexpr std::int64_t nodes_per_part = std::int64_t{1} << 16;
    const std::int64_t parts = (n + nodes_per_part - 1) / nodes_per_part;
    auto netlist = detail::assemble_csr<T>(n, n, parts, [=](std::int64_t part, const auto& visit) {
      const std::int64_t last = std::min(n, (part + 1) * nodes_per_part);
      const auto stamp = [&](std::int64_t row, std::int64_t col) {
        visit(row, col, real_value<T>(random_value(seed, place_of(row, col))));
      };
      for (std::int64_t node = part * nodes_per_part; node < last; ++node) {
        stamp(node, node);
        for_each_neighbour(node, n, seed, [&](std::int64_t other) {
          stamp(node, other);
          stamp(other, node);
        });
      }
    });
    return detail::without_duplicates(netlist);
  }

 private:
  static constexpr int elements = 3;  // at most, from each node
  static constexpr std::int64_t supplies = 4;
  static constexpr std::int64_t reach = 16;  // of an element between close nodes

  template <class Visit>
  static void for_each_neighbour(std::int64_t node, std::int64_t n, std::uint64_t seed, const Visit& visit) {
    const std::uint64_t own = random_bits(~seed, static_cast<std::uint64_t>(node));
    std::uint64_t draws = 0;
    for (int element = 0; element < elements; ++element) {
      // The first element is always there and close, so that no node is alone; each of the others for one in three.
      if (element > 0 && random_unit(own, draws++) >= 1.0 / 3) continue;
      const bool close = element == 0 || random_unit(own, draws++) >= 1.0 / 16;
      const std::int64_t distance = 1 + random_index(own, draws++, std::min(reach, n - 1));
      const std::int64_t other = close ? neighbour_at(node, distance, n) : random_index(own, draws++, n);
      if (other != node) visit(other);
    }
    for (std::int64_t supply = 0; supply < supplies; ++supply) {
      const std::int64_t net = (2 * supply + 1) * n / (2 * supplies);
      if (random_unit(own, draws++) < 1.0 / 8 && net != node) visit(net);
    }
  }

  static std::int64_t neighbour_at(std::int64_t node, std::int64_t distance, std::int64_t n) {
    if (node + distance < n) return node + distance;
    return std::max<std::int64_t>(0, node - distance);
  }
};

struct Dense {
  static Size size(const Arguments& args) {
    const double rows = static_cast<double>(args[0]);
    const double cols = static_cast<double>(args[1]);
    return {rows, cols, rows * cols};
  }

  template <class T>
  static HostCsr<T> make(const Arguments& args) {
    return detail::assemble_rows<T>(args[0], args[1], [cols = args[1]](std::int64_t r, const auto& visit) {
      for (std::int64_t c = 0; c < cols; ++c) visit(c, real_value<T>(random_value(fixed_seed, place_of(r, c))));
    });
  }
};

struct Banded {
  static Size size(const Arguments& args) {
    const double n = static_cast<double>(args[0]);
    return {n, n, n * std::min(n, 2 * static_cast<double>(args[1]) + 1)};
  }

  template <class T>
  static HostCsr<T> make(const Arguments& args) {
    const std::int64_t n = args[0];
    const std::int64_t half = args[1];
    return detail::assemble_rows<T>(n, n, [=](std::int64_t r, const auto& visit) {
      for (std::int64_t c = std::max<std::int64_t>(0, r - half); c <= std::min(n - 1, r + half); ++c) {
        visit(c, real_value<T>(random_value(fixed_seed, place_of(r, c))));
      }
    });
  }
};

struct Twin {
  static Size size(const Arguments& args) {
    const double rows = static_cast<double>(args[0]);
    return {rows, static_cast<double>(args[1]), rows * args.decimal(2)};
  }

  template <class T>
  static HostCsr<T> make(const Arguments& args) {
    const auto rows = args[0];
    const auto cols = args[1];
    const TwinFeatures features{.npr_mean = args.decimal(2),
                                .npr_std = args.decimal(3),
                                .skew = args.decimal(4),
                                .bandwidth = args.decimal(5),
                                .neighbours = args.decimal(6),
                                .similarity = args.decimal(7)};
    const auto seed = static_cast<std::uint64_t>(args[8]);
    auto pattern = make_twin(rows, cols, features, seed);
    HostCsr<T> matrix{rows, cols, std::move(pattern.row_ptr), std::move(pattern.col_idx), {}};
    matrix.values.resize(matrix.nnz());
    parallel_region(matrix.nnz(), [&](int thread, int threads) {
      const auto share = share_of(rows, thread, threads);
      for (std::int64_t r = share.first; r < share.last; ++r) {
        for (std::int64_t k = matrix.row_ptr[r]; k < matrix.row_ptr[r + 1]; ++k) {
          matrix.values[k] = real_value<T>(random_value(seed, place_of(r, matrix.col_idx[k])));
        }
      }
    });
    return matrix;
  }
};

// One argument of a usage line.
struct Argument {
  enum class Default : std::uint8_t { none, value, previous };
  enum class Kind : std::uint8_t { integer, decimal };

  std::int64_t least = 1;
  Default otherwise = Default::none;
  std::int64_t value = 0;
  Kind kind = Kind::integer;
};

constexpr Argument required{};
constexpr Argument required_or_zero{.least = 0};
constexpr Argument required_decimal{.least = 0, .kind = Argument::Kind::decimal};
constexpr Argument like_previous{.otherwise = Argument::Default::previous};
constexpr Argument seed_argument{.least = 0, .otherwise = Argument::Default::value, .value = 1};

struct Generator {
  GeneratorInfo info;
  std::vector<Argument> arguments;
  Size (*size)(const Arguments&);
  HostCsr<float> (*make_float)(const Arguments&);
  HostCsr<double> (*make_double)(const Arguments&);
  HostCsr<std::complex<float>> (*make_complex_float)(const Arguments&);
  HostCsr<std::complex<double>> (*make_complex_double)(const Arguments&);
};

template <class Kind>
Generator generator(GeneratorInfo info, std::vector<Argument> arguments) {
  return {info,
          std::move(arguments),
          Kind::size,
          Kind::template make<float>,
          Kind::template make<double>,
          Kind::template make<std::complex<float>>,
          Kind::template make<std::complex<double>>};
}

const std::vector<Generator>& generators() {
  static const std::vector<Generator> all = {
      generator<Pde>({"pde", "gen:pde:N", "3-D convection-diffusion, 7-point centred differences, N^3 rows"},
                     {required}),
      generator<Fem>({"fem", "gen:fem:N:U", "trilinear hexahedra on N^3 nodes, U unknowns a node, positive definite"},
                     {required, required}),
      generator<Grid2d>({"grid2d", "gen:grid2d:N", "5-point Laplacian on an N x N grid"}, {required}),
      generator<Rmat>({"rmat", "gen:rmat:SCALE[:EDGES_PER_ROW[:SEED]]",
                       "R-MAT graph of 2^SCALE rows, 16 edges a row unless said, values 1"},
                      {required, {.otherwise = Argument::Default::value, .value = 16}, seed_argument}),
      generator<Uniform>({"uniform", "gen:uniform:ROWS:COLS:NPR[:SEED]", "NPR random columns in every row"},
                         {required, required, required_or_zero, seed_argument}),
      generator<Circuit>({"circuit", "gen:circuit:N[:SEED]",
                          "circuit-like: short rows near the diagonal, four dense rows and columns"},
                         {required, seed_argument}),
      generator<Dense>({"dense", "gen:dense:N[:M]", "all of N x M elements (N x N unless said)"},
                       {required, like_previous}),
      generator<Banded>(
          {"banded", "gen:banded:N:HALF_BANDWIDTH", "N rows, all elements within HALF_BANDWIDTH of the diagonal"},
          {required, required_or_zero}),
      generator<Twin>({"twin", "gen:twin:ROWS:COLS:NPR_MEAN:NPR_STD:SKEW:BANDWIDTH:NEIGHBOURS:SIMILARITY[:SEED]",
                       "artificial matrix of these features (Mpakos et al. 2023)"},
                      {required, required, required_decimal, required_decimal, required_decimal, required_decimal,
                       required_decimal, required_decimal, seed_argument}),
  };
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
  for (const auto& candidate : generators()) {
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
void check_size(const Size& size, std::size_t value_bytes, std::int64_t most_bytes) {
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

template <class T>
HostCsr<T> make(const Generator& kind, const Arguments& args) {
  if constexpr (std::is_same_v<T, float>) {
    return kind.make_float(args);
  } else if constexpr (std::is_same_v<T, double>) {
    return kind.make_double(args);
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return kind.make_complex_float(args);
  } else {
    return kind.make_complex_double(args);
  }
}

}  // namespace

std::span<const GeneratorInfo> generator_table() {
  static const auto table = [] {
    std::vector<GeneratorInfo> infos;
    for (const auto& kind : generators()) infos.push_back(kind.info);
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
    return make<T>(kind, args);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(printable(spec) + ": " + error.what() + "; usage: " + usage);
  } catch (const std::bad_alloc&) {
    throw Error(printable(spec) + ": out of memory");
  }
}

template HostCsr<float> generate(std::string_view, std::int64_t);
template HostCsr<double> generate(std::string_view, std::int64_t);
template HostCsr<std::complex<float>> generate(std::string_view, std::int64_t);
template HostCsr<std::complex<double>> generate(std::string_view, std::int64_t);

}  // namespace autospmv
