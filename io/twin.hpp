// Artificial matrices that share a few features with a given one, and these features of any matrix: Mpakos,
// Galanopoulos, Anastasiadis, Papadopoulou, Koziris, Goumas, "Feature-based SpMV performance analysis on contemporary
// devices", 2023. How fast a product is follows from them to a large part, so that a twin stands in for a matrix that
// is not at hand.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace autospmv {

/// Means over rows are over those with nonzeros. All are 0 for a matrix without any.
struct TwinFeatures {
  double npr_mean = 0;    ///< nonzeros per row, empty rows included
  double npr_std = 0;     ///< standard deviation of the same
  double skew = 0;        ///< (longest row - npr_mean) / npr_mean
  double bandwidth = 0;   ///< mean over the rows of (last column - first column) / cols, in [0, 1)
  double neighbours = 0;  ///< mean over the nonzeros of how many columns beside it the row has too, in [0, 2)
  double similarity = 0;  ///< mean over the rows but the last of the share of their nonzeros that are at most one
                          ///< column off a nonzero of the next row, in [0, 1]
};

/// Rows are sorted by column and free of duplicates.
struct TwinPattern {
  std::vector<std::int64_t> row_ptr;  ///< rows + 1 offsets
  std::vector<std::int32_t> col_idx;
};

/// The features of a matrix in host memory whose rows are sorted by column and free of duplicates.
TwinFeatures twin_features(std::int64_t cols, std::span<const std::int64_t> row_ptr,
                           std::span<const std::int32_t> col_idx);

/// A matrix of these features, the same for any number of threads. Features that contradict each other come as close as
/// they can; a longest row of more than cols nonzeros is cut to cols. Throws InvalidArgument for features that no
/// matrix has: npr_mean above cols, bandwidth or similarity above 1, neighbours above 2.
TwinPattern make_twin(std::int64_t rows, std::int64_t cols, const TwinFeatures& features, std::uint64_t seed);

}  // namespace autospmv
