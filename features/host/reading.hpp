// What the host reads of a matrix, part by part. features/cuda has the same parts for a device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "features/tally.hpp"

namespace autospmv::host {

template <class Counts>
void add_words(Counts& to, Counts from) {
  for (int i = 0; i < count_words<Counts>(); ++i) words_of(to)[i] += words_of(from)[i];
}

/// What is read of all rows.
struct RowReading {
  Tally tally;
  std::vector<std::int64_t> long_rows;  ///< their lengths, in any order
};

/// Reads rows, each once, and counts everything but blocks and values; of a pattern without columns, lengths only.
template <class Offset>
RowReading read_rows(const Pattern<Offset>& pattern);

/// What is read of a sample of the rows: blocks, and the diagonals of slices.
template <class Offset>
Sums read_sample(const Pattern<Offset>& pattern);

template <class T>
void count_values(std::span<const T> values, Sums& sums);

}  // namespace autospmv::host
