// What the runtime reads from a matrix before it decides anything: a fixed vector of numbers, the same from the host
// and from the device.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"

namespace autospmv {

/// Percentiles of npr that formats choose their widths from, and where Features keeps them.
inline constexpr std::array<int, 9> npr_percentiles = {10, 25, 33, 50, 67, 75, 90, 95, 99};
constexpr std::size_t percentile_index(int percent) {
  const auto* const at = std::find(npr_percentiles.begin(), npr_percentiles.end(), percent);
  return static_cast<std::size_t>(at - npr_percentiles.begin());
}

/// Bins of the npr histogram: bin 0 counts empty rows, bin b rows with npr in [2^(b-1), 2^b), the last longer ones too.
inline constexpr int npr_bins = 33;
/// Of a bin from 1 on.
constexpr double least_of_bin(int bin) { return static_cast<double>(std::int64_t{1} << (bin - 1)); }

/// b x b blocks and slices of C rows whose fill and padding are known.
inline constexpr std::array<int, 4> block_sizes = {2, 3, 4, 8};
inline constexpr std::array<int, 4> slice_sizes = {16, 32, 64, 128};

/// Diagonals, distinct values and the diagonals of a slice are counted exactly up to these caps; a count over its cap
/// reads cap + 1.
inline constexpr std::int64_t diagonals_cap = 4096;
inline constexpr std::int64_t distinct_values_cap = 256;
inline constexpr std::int64_t slice_diagonals_cap = 256;

struct Features {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;

  double npr_mean = 0;      ///< 0 for a matrix without rows
  double npr_variance = 0;  ///< population variance
  std::int64_t npr_min = 0;
  std::int64_t npr_max = 0;
  /// Smallest v such that at least p % of the rows have at most v nonzeros, for p in npr_percentiles.
  std::array<std::int64_t, npr_percentiles.size()> npr_percentile{};
  std::array<std::int64_t, npr_bins> npr_histogram{};
  std::int64_t empty_rows = 0;

  std::int64_t diagonals = 0;        ///< diagonals that hold at least one nonzero, up to diagonals_cap
  std::int64_t lower_bandwidth = 0;  ///< largest row - column of a nonzero, at least 0
  std::int64_t upper_bandwidth = 0;  ///< largest column - row of a nonzero, at least 0
  bool symmetric_pattern = false;    ///< square, and (i, j) is stored as often as (j, i)
  bool sorted_columns = true;        ///< every row's columns strictly increase: sorted and no duplicates

  /// nnz over the elements of the b x b blocks (aligned to multiples of b) that hold them; 0 without nnz. In (0, 1], or
  /// more where columns are repeated.
  std::array<double, block_sizes.size()> block_fill{};
  /// Stored slots over nnz: every row padded to the longest, or to the longest of its slice of C rows. At least 1
  /// where there are nonzeros, 0 where there are none.
  double ell_padding = 0;
  std::array<double, slice_sizes.size()> sliced_ell_padding{};
  /// Largest column - smallest column over the rows of a slice of 32: mean over slices that hold nonzeros, and longest.
  double slice_span_mean = 0;
  std::int64_t slice_span_max = 0;
  /// Diagonals that the rows of a slice of 32 meet, up to slice_diagonals_cap: mean over slices that hold nonzeros.
  double slice_diagonals_mean = 0;

  bool values_all_equal = false;       ///< bitwise; false without nnz
  std::int64_t distinct_values = 0;    ///< bit patterns, up to distinct_values_cap
  bool values_exact_in_float = false;  ///< all survive double -> float -> double bit for bit; false without nnz
  /// block_fill and slice_diagonals_mean were read from a sample of the rows, see feature_sample_nnz.
  bool sampled = false;

  /// No feature, but told by who reads all values anyhow: the largest magnitude of the finite ones, 0 without any.
  std::optional<double> largest_magnitude;
};

/// Above this many nonzeros, block_fill and slice_diagonals_mean are read from groups of rows, spaced evenly over the
/// matrix, that hold about this many. Which ones depends on rows and nnz alone, so that the same matrix always gives
/// the same numbers. Counting the blocks of four sizes takes several times as long a nonzero as all other features.
inline constexpr std::int64_t feature_sample_nnz = std::int64_t{1} << 15;

/// One entry of the table that names, explains and reads every feature as a number.
struct FeatureInfo {
  std::string_view name;
  std::string_view unit;
  std::string_view meaning;
  double (*read)(const Features&);
};

/// Every feature, array elements one by one ("npr_p50", "block_fill_3", "sliced_ell_padding_32").
std::span<const FeatureInfo> feature_table();

/// Reads the matrix, which lies in the memory of `place`. Runs on the setup stream, complete when it returns.
template <class T>
Features extract_features(const CsrView<T>& matrix, Place place);

/// The dimensions and what the features say of npr and of padding, the rest left as it begins. Reads nothing but the
/// row offsets, so it is much faster.
template <class T>
Features extract_row_features(const CsrView<T>& matrix, Place place);

/// The dimensions and what the features say of the values, the rest left as it begins; much faster too.
template <class T>
Features extract_value_features(const CsrView<T>& matrix, Place place);

}  // namespace autospmv
