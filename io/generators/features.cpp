// Artificial matrices of given features.
#include <utility>

#include "io/generators/kind.hpp"
#include "io/twin.hpp"

namespace autospmv::generators {

namespace {

using detail::place_of;

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
    detail::set_values(matrix, [=](auto row, auto col) { return random_value(seed, place_of(row, col)); });
    return matrix;
  }
};

}  // namespace

std::vector<Generator> of_features() {
  return {generator<Twin>({"twin", "gen:twin:ROWS:COLS:NPR_MEAN:NPR_STD:SKEW:BANDWIDTH:NEIGHBOURS:SIMILARITY[:SEED]",
                           "artificial matrix of these features (Mpakos et al. 2023)"},
                          {required, required, required_decimal, required_decimal, required_decimal, required_decimal,
                           required_decimal, required_decimal, seed_argument})};
}

}  // namespace autospmv::generators
