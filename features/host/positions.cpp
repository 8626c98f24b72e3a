#include "features/host/positions.hpp"

#include "core/machine/simd.hpp"

namespace autospmv::host {

namespace {

// Of external linkage, it would be exported by the library, hidden or not.
AUTOSPMV_MULTIVERSION void count_version(const Nonzeros& of, bool square, PositionCounts& counts) {
  const std::int32_t* const rows = of.rows;
  const std::int32_t* const columns = of.columns;
  std::int32_t leftmost = counts.columns.smallest;
  std::int32_t rightmost = counts.columns.largest;
  std::int32_t lowest = counts.diagonals.smallest;
  std::int32_t highest = counts.diagonals.largest;
#pragma omp simd reduction(min : leftmost, lowest) reduction(max : rightmost, highest)
  for (std::int64_t k = 0; k < of.count; ++k) {
    const std::int32_t column = columns[k];
    const std::int32_t diagonal = column - rows[k];
    leftmost = column < leftmost ? column : leftmost;
    rightmost = column > rightmost ? column : rightmost;
    lowest = diagonal < lowest ? diagonal : lowest;
    highest = diagonal > highest ? diagonal : highest;
  }
  counts.columns = {leftmost, rightmost};
  counts.diagonals = {lowest, highest};
  unsigned descents = 0;
#pragma omp simd reduction(+ : descents)
  for (std::int64_t k = 1; k < of.count; ++k) {
    descents += static_cast<unsigned>(columns[k - 1] >= columns[k]) & static_cast<unsigned>(rows[k - 1] == rows[k]);
  }
  counts.descents += descents;
  if (!square) return;
  Count asymmetry = 0;
#pragma omp simd reduction(+ : asymmetry)
  for (std::int64_t k = 0; k < of.count; ++k) asymmetry += asymmetry_of(of.first_row + rows[k], columns[k]);
  counts.asymmetry += asymmetry;
}

}  // namespace

void count_positions(const Nonzeros& of, bool square, PositionCounts& counts) { count_version(of, square, counts); }

}  // namespace autospmv::host
