// What the threads of a product compute on a processor, from the features: how formats fill in Cost::work. Where caches
// serve the matrix, this is most of what a product takes: what it does to an entry, the rows whose end the processor
// does not foresee, and what giving columns and values back from fewer bits costs.
//
// In nanoseconds of one thread of the processor that exhaustive runs of 59 matrices were made on, an AMD EPYC with two
// threads; Coefficients::work_seconds says how fast another one is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "features/features.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/format.hpp"

namespace autospmv::formats {

/// To ask a slot whether it holds an entry.
inline constexpr double asked_slot = 0.85;

/// What a loop over rows does for each entry, padding included, and for each row beside that; and for each row whose
/// end is not foreseen: less where entries are read in packs, or rows lie in the order of their lengths.
struct LoopWork {
  double entry = 0;
  double row = 0;
  double unforeseen = 8;
  double beyond = asked_slot;  ///< of slots beyond the shortest of rows side by side, where neighbours differ
};

/// Of slices in packs: their padding is multiplied as entries are. Of long rows there may be more than features tell.
inline constexpr LoopWork work_in_packs(double entry, double row) { return {.entry = entry, .row = row, .beyond = 0}; }

/// LoopWork::unforeseen of entries one by one, where rows lie in the order of their lengths.
inline constexpr double unforeseen_when_sorted = 1.2;

/// What lengths that change from row to row pad slices of the fewest rows with. A single long row pads its slice by as
/// many times its own length as the slice has other rows: that part grows with the rows of a slice, and is left out.
inline double padding_of_neighbours(const Features& features) {
  const auto& padding = features.sliced_ell_padding;
  const double of_long_rows =
      std::max(0.0, padding[3] - padding[2]) / (slice_sizes[3] - slice_sizes[2]) * (slice_sizes[0] - 1);
  return std::max(0.0, padding[0] - 1 - of_long_rows);
}

/// The share of the rows whose end is not foreseen.
inline double unforeseen_rows(const Features& features) {
  return 1 - std::exp(-0.45 * padding_of_neighbours(features));
}

/// Rows one by one, each with a loop of its own length.
inline double work_of_rows(const Features& features, LoopWork loop) {
  return static_cast<double>(features.nnz) * loop.entry +
         static_cast<double>(features.rows) * (loop.row + loop.unforeseen * unforeseen_rows(features));
}

/// Slots in which rows lie side by side. Those beyond the shortest of their rows are about as many as are padding, and
/// as many again that are not; those beside long rows are asked one by one.
inline double work_of_slots(const Features& features, double slots, LoopWork loop) {
  const auto rows = static_cast<double>(features.rows);
  const double beyond = std::min(slots, 2 * std::max(0.0, slots - static_cast<double>(features.nnz)));
  const double padding = features.sliced_ell_padding[0] - 1;
  const double of_neighbours = padding > 0 ? std::min(1.0, padding_of_neighbours(features) / padding) : 1;
  return slots * loop.entry + rows * loop.row +
         beyond * (of_neighbours * loop.beyond + (1 - of_neighbours) * asked_slot);
}

/// Each thread jumps from row to row of the whole matrix, and from place to place in x.
inline double work_of_far_rows(const Features& features) { return 0.13 * static_cast<double>(features.nnz); }

/// Cost::conversion of what puts all rows in the order of their lengths: each row takes as long as so many nonzeros.
inline double conversion_by_sorting(const Features& features) {
  constexpr double nonzeros_of_a_row = 35;
  return 1.2 + nonzeros_of_a_row / std::max(1.0, features.npr_mean);
}

/// Giving so many slots back from so few bits; by chunk where a column has 0.
inline double work_of_decoding(double slots, std::int64_t column_bits, std::int64_t value_bits) {
  const double of_column = column_bits == 0 ? 0.05 : column_bits < full_column_bits ? 0.03 : 0;
  return slots * (of_column + (value_bits == 8 ? 0.38 : 0));
}

}  // namespace autospmv::formats
