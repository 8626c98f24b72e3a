// Discretized partial differential equations: points or elements of a grid and their neighbours.
#include <algorithm>
#include <cmath>

#include "io/assemble.hpp"
#include "io/generators/kind.hpp"

namespace autospmv::generators {

namespace {

using detail::place_of;

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
    const T diagonal = static_cast<T>(6 * diffusion / (h * h));
    const T upwind = static_cast<T>(-diffusion / (h * h) - convection / (2 * h));
    const T downwind = static_cast<T>(-diffusion / (h * h) + convection / (2 * h));
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
    return static_cast<T>(row == col ? static_cast<double>(most_npr) + number : number);
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

}  // namespace

std::vector<Generator> of_grids() {
  return {
      generator<Pde>({"pde", "gen:pde:N", "3-D convection-diffusion, 7-point centred differences, N^3 rows"},
                     {required}),
      generator<Fem>({"fem", "gen:fem:N:U", "trilinear hexahedra on N^3 nodes, U unknowns a node, positive definite"},
                     {required, required}),
      generator<Grid2d>({"grid2d", "gen:grid2d:N", "5-point Laplacian on an N x N grid"}, {required})};
}

}  // namespace autospmv::generators
