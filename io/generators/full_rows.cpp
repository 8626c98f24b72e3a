// Rows without a gap: all of the matrix, or a band around the diagonal.
#include <algorithm>

#include "io/assemble.hpp"
#include "io/generators/kind.hpp"

namespace autospmv::generators {

namespace {

using detail::place_of;

struct Dense {
  static Size size(const Arguments& args) {
    const double rows = static_cast<double>(args[0]);
    const double cols = static_cast<double>(args[1]);
    return {rows, cols, rows * cols};
  }

  template <class T>
  static HostCsr<T> make(const Arguments& args) {
    return detail::assemble_rows<T>(args[0], args[1], [cols = args[1]](std::int64_t r, const auto& visit) {
      for (std::int64_t c = 0; c < cols; ++c) visit(c, static_cast<T>(random_value(fixed_seed, place_of(r, c))));
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
        visit(c, static_cast<T>(random_value(fixed_seed, place_of(r, c))));
      }
    });
  }
};

}  // namespace

std::vector<Generator> of_full_rows() {
  return {generator<Dense>({"dense", "gen:dense:N[:M]", "all of N x M elements (N x N unless said)"},
                           {required, like_previous}),
          generator<Banded>(
              {"banded", "gen:banded:N:HALF_BANDWIDTH", "N rows, all elements within HALF_BANDWIDTH of the diagonal"},
              {required, required_or_zero})};
}

}  // namespace autospmv::generators
