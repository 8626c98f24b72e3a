// The segments of SURAA: the rows, sorted by npr, cut where npr passes a multiple of h.
//
//   h = 2   npr         9 9 | 7 6 6 | 3 2 | 1 1 0
//           intervals   8-9   6-7     2-3   0-1
//
// h is twice the interquartile range of npr over the cube root of the number of rows, by the rule of Freedman and
// Diaconis for the bins of a histogram. The paper calls it the size of a segment; since npr is what the rule is applied
// to, we read it as the width of an interval of npr, of at least 1, as lengths are integers: an interquartile range of
// 0 makes a segment of every length. Every segment is a kernel, so h doubles until there are no more than `most` of
// them. Rows past long_row are cut by their numbers of threads only: they are multiplied one by one whatever their
// segment is. Those that go to child kernels are one segment, the first, whose end is where one of width h ends.
//
// Source: Muhammed, Mehmood, Albeshri, Katib, "SURAA: a novel method and tool for loadbalanced and coalesced SpMV
// computations on GPUs", 2019, 4.1, Algorithms 1 and 2, equation (1).
#pragma once

#include <cstdint>
#include <vector>

#include "formats/binned/row_bins.hpp"

namespace autospmv::formats::suraa {

/// Rows of no more nonzeros than this never get more than most_vector_threads.
inline constexpr std::int64_t long_row = 256;

/// A warp: rows of a segment get one or more each where they have this many nonzeros on average, else a thread.
inline constexpr std::int64_t warp_row = 32;

/// h of equation (1), at least 1; of rows that were binned by fine_floors(), as all that follow.
double interval_width(const RowBins& rows);

/// How many of the longest rows are in G1: those of whole segments that hold no more than `most` rows together, each of
/// warp_row nonzeros a row or more on average.
std::int64_t rows_of_children(const RowBins& rows, double width, std::int64_t most);

/// The segments, longest rows first, with 1, 32, 64 or 128 threads a row, half as many as it has nonzeros on average;
/// rows past long_row with as many as `rule` says. The first one is G1, if any rows are in it. At most BinTable::most.
std::vector<RowBin> segments_of(const RowBins& rows, const ThreadRule& rule, double width, std::int64_t children);

}  // namespace autospmv::formats::suraa
