// Random graphs, as adjacency matrices: of everybody with anybody, or of a circuit.
#include <algorithm>
#include <cmath>
#include <span>

#include "core/error.hpp"
#include "io/assemble.hpp"
#include "io/generators/kind.hpp"

namespace autospmv::generators {

namespace {

using detail::place_of;

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
      }
    });
    detail::set_values(matrix, [=](auto row, auto col) { return random_value(seed, place_of(row, col)); });
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
        visit(row, col, static_cast<T>(random_value(seed, place_of(row, col))));
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

}  // namespace

std::vector<Generator> of_graphs() {
  return {generator<Rmat>({"rmat", "gen:rmat:SCALE[:EDGES_PER_ROW[:SEED]]",
                           "R-MAT graph of 2^SCALE rows, 16 edges a row unless said, values 1"},
                          {required, {.otherwise = Argument::Default::value, .value = 16}, seed_argument}),
          generator<Uniform>({"uniform", "gen:uniform:ROWS:COLS:NPR[:SEED]", "NPR random columns in every row"},
                             {required, required, required_or_zero, seed_argument}),
          generator<Circuit>({"circuit", "gen:circuit:N[:SEED]",
                              "circuit-like: short rows near the diagonal, four dense rows and columns"},
                             {required, seed_argument})};
}

}  // namespace autospmv::generators
