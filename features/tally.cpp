#include "features/tally.hpp"

#include <cstddef>
#include <utility>

namespace autospmv {

namespace {

double ratio(double numerator, double denominator) { return denominator > 0 ? numerator / denominator : 0; }

/// How many rows have one length.
struct RowsOfLength {
  std::int64_t length;
  std::int64_t rows;
};

/// Every length that occurs, ascending.
std::vector<RowsOfLength> lengths_of(const Tally& tally, std::vector<std::int64_t> long_rows) {
  std::vector<RowsOfLength> lengths;
  for (std::int64_t length = 0; length < long_row; ++length) {
    const auto rows = static_cast<std::int64_t>(tally.short_rows[static_cast<std::size_t>(length)]);
    if (rows > 0) lengths.push_back({length, rows});
  }
  std::sort(long_rows.begin(), long_rows.end());
  for (const std::int64_t length : long_rows) {
    if (lengths.empty() || lengths.back().length != length) lengths.push_back({length, 0});
    ++lengths.back().rows;
  }
  return lengths;
}

double variance_of(const std::vector<RowsOfLength>& lengths, double mean, std::int64_t rows) {
  double squares = 0;
  for (const auto& [length, count] : lengths) {
    const double deviation = static_cast<double>(length) - mean;
    squares += static_cast<double>(count) * deviation * deviation;
  }
  return ratio(squares, static_cast<double>(rows));
}

void set_percentiles(const std::vector<RowsOfLength>& lengths, Features& features) {
  std::int64_t rows_so_far = 0;
  std::size_t next = 0;
  for (const auto& [length, count] : lengths) {
    rows_so_far += count;
    while (next < npr_percentiles.size() && rows_so_far * 100 >= npr_percentiles[next] * features.rows) {
      features.npr_percentile[next++] = length;
    }
  }
}

void set_npr(const std::vector<RowsOfLength>& lengths, Features& features) {
  if (lengths.empty()) return;
  features.npr_mean = static_cast<double>(features.nnz) / static_cast<double>(features.rows);
  features.npr_variance = variance_of(lengths, features.npr_mean, features.rows);
  features.npr_min = lengths.front().length;
  features.npr_max = lengths.back().length;
  set_percentiles(lengths, features);
  for (const auto& [length, count] : lengths) {
    const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(length)));
    const int bin = std::min(bits, npr_bins - 1);
    features.npr_histogram[static_cast<std::size_t>(bin)] += count;
  }
  features.empty_rows = features.npr_histogram[0];
}

void set_padding(const Sums& sums, Features& features) {
  const auto nnz = static_cast<double>(features.nnz);
  features.ell_padding = ratio(static_cast<double>(features.rows) * static_cast<double>(features.npr_max), nnz);
  for (std::size_t i = 0; i < slice_sizes.size(); ++i) {
    features.sliced_ell_padding[i] = ratio(static_cast<double>(sums.sliced_slots[i]), nnz);
  }
}

void set_block_fill(const Sums& sums, Features& features) {
  features.sampled = !RowSample::of(features.rows, features.nnz).complete();
  if (features.nnz == 0) return;
  for (std::size_t i = 0; i < block_sizes.size(); ++i) {
    const double elements = block_sizes[i] * block_sizes[i];
    // A sample that met no nonzeros knows nothing: the least a block can hold promises nothing either.
    features.block_fill[i] =
        sums.blocks[i] == 0 ? 1 / elements
                            : static_cast<double>(sums.sampled_nnz) / (elements * static_cast<double>(sums.blocks[i]));
  }
}

void set_positions(const Tally& tally, Features& features) {
  const auto& sums = tally.sums;
  features.diagonals = std::min(static_cast<std::int64_t>(sums.diagonals), diagonals_cap + 1);
  features.lower_bandwidth = static_cast<std::int64_t>(tally.maxima.lower_bandwidth);
  features.upper_bandwidth = static_cast<std::int64_t>(tally.maxima.upper_bandwidth);
  features.symmetric_pattern = features.rows == features.cols && sums.asymmetry == 0;
  features.sorted_columns = sums.descents == 0;
  features.slice_span_mean = ratio(static_cast<double>(sums.span), static_cast<double>(sums.spanned_slices));
  features.slice_span_max = static_cast<std::int64_t>(tally.maxima.span);
  features.slice_diagonals_mean =
      ratio(static_cast<double>(sums.slice_diagonals), static_cast<double>(sums.met_slices));
}

void set_values(const Sums& sums, Features& features) {
  const auto distinct = static_cast<std::int64_t>(sums.distinct_values) + (sums.zero_values > 0 ? 1 : 0);
  features.distinct_values = std::min(distinct, distinct_values_cap + 1);
  features.values_all_equal = features.distinct_values == 1;
  features.values_exact_in_float = features.nnz > 0 && sums.inexact_values == 0;
}

}  // namespace

Features finish_rows(const Tally& tally, std::int64_t rows, std::int64_t cols, std::int64_t nnz,
                     std::vector<std::int64_t> long_rows) {
  Features features;
  features.rows = rows;
  features.cols = cols;
  features.nnz = nnz;
  set_npr(lengths_of(tally, std::move(long_rows)), features);
  set_padding(tally.sums, features);
  return features;
}

Features finish(const Tally& tally, std::int64_t rows, std::int64_t cols, std::int64_t nnz,
                std::vector<std::int64_t> long_rows) {
  auto features = finish_rows(tally, rows, cols, nnz, std::move(long_rows));
  set_positions(tally, features);
  set_block_fill(tally.sums, features);
  set_values(tally.sums, features);
  return features;
}

}  // namespace autospmv
