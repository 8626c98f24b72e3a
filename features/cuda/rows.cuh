// How long rows are, alone and in slices, and how wide slices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "features/cuda/block_tally.cuh"
#include "features/cuda/shares.cuh"
#include "features/tally.hpp"

namespace autospmv::cuda::reading {

/// Rows by length, in shared memory.
class LengthCounts {
 public:
  __device__ explicit LengthCounts(unsigned* shared) : counts_(shared) {
    for (int length = static_cast<int>(threadIdx.x); length < long_row; length += default_block) counts_[length] = 0;
    __syncthreads();
  }

  /// Called by all lanes of a warp, those without a row with a length of -1.
  __device__ void count(std::int64_t length, std::int64_t* long_rows, Tally& tally) const {
    // Lanes of equal length count once for all: where all rows are alike, they would queue for one counter.
    const unsigned alike = __match_any_sync(cuda::all_lanes, static_cast<int>(min(length, long_row)));
    if (length >= long_row) {
      long_rows[atomicAdd(&tally.sums.long_rows, Count{1})] = length;
    } else if (length >= 0 && lane() == __ffs(static_cast<int>(alike)) - 1) {
      atomicAdd(&counts_[length], static_cast<unsigned>(__popc(alike)));
    }
  }

  __device__ void add_to(Tally& tally) const {
    __syncthreads();
    for (int length = static_cast<int>(threadIdx.x); length < long_row; length += default_block) {
      if (counts_[length] != 0) atomicAdd(&tally.short_rows[static_cast<std::size_t>(length)], Count{counts_[length]});
    }
  }

 private:
  unsigned* counts_;
};

/// A warp reads the rows of a largest slice in as many steps of its lanes.
inline constexpr int slice_steps = static_cast<int>(largest_slice / warp_size);
static_assert(slice_steps == 4 && slice_sizes == std::array<int, 4>{16, 32, 64, 128} && span_slice == warp_size);

/// The slots that the rows of this lane, of these lengths or -1, take in slices of every size: each row takes as many
/// as the longest of its slice.
inline __device__ void add_slots(const std::int64_t (&lengths)[slice_steps], Count (&slots)[slice_sizes.size()]) {
  std::int64_t half[slice_steps];
  std::int64_t longest[slice_steps];
  std::int64_t longest_of_all = 0;
  for (int step = 0; step < slice_steps; ++step) {
    half[step] = largest_of(lengths[step], warp_size / 2);
    longest[step] = largest_of(half[step], warp_size);
    longest_of_all = max(longest_of_all, longest[step]);
  }
  for (int step = 0; step < slice_steps; ++step) {
    if (lengths[step] < 0) continue;
    slots[0] += static_cast<Count>(half[step]);
    slots[1] += static_cast<Count>(longest[step]);
    slots[2] += static_cast<Count>(max(longest[step], longest[step ^ 1]));
    slots[3] += static_cast<Count>(longest_of_all);
  }
}

/// Smallest and largest column of the rows of a slice.
struct Span {
  std::int32_t smallest = 0x7fffffff;
  std::int32_t largest = -1;

  __device__ void include(std::int32_t column) {
    smallest = min(smallest, column);
    largest = max(largest, column);
  }
  /// Called by all lanes of a warp.
  __device__ void unite_lanes() {
    smallest = ~largest_of(~smallest, warp_size);
    largest = largest_of(largest, warp_size);
  }
};

struct SpanCounts {
  Count sum = 0;
  Count longest = 0;
  Count slices = 0;

  __device__ void count(Span span) {
    span.unite_lanes();
    if (lane() != 0 || span.largest < 0) return;
    const auto width = static_cast<Count>(span.largest - span.smallest);
    ++slices;
    sum += width;
    longest = max(longest, width);
  }

  __device__ void add_to(const BlockTally& block) const {
    add(block.sums().span, sum);
    add(block.sums().spanned_slices, slices);
    raise(block.maxima().span, longest);
  }
};

/// The spans are right where the columns of every row are sorted. Of a pattern without columns, there are none.
template <class Offset>
__device__ void read_rows(const Pattern<Offset>& pattern, std::int64_t* long_rows, Part part, const BlockTally& block,
                          Tally& tally) {
  __shared__ unsigned shared_lengths[long_row];
  const LengthCounts length_counts(shared_lengths);
  Count slots[slice_sizes.size()] = {};
  SpanCounts spans;
  for (std::int64_t first = part.warp() * largest_slice; first < pattern.rows; first += part.warps() * largest_slice) {
    std::int64_t lengths[slice_steps];
    for (int step = 0; step < slice_steps; ++step) {
      const std::int64_t i = first + step * warp_size + lane();
      const std::int64_t start = i < pattern.rows ? pattern.row_ptr[i] : 0;
      const std::int64_t end = i < pattern.rows ? pattern.row_ptr[i + 1] : 0;
      lengths[step] = i < pattern.rows ? end - start : -1;
      length_counts.count(lengths[step], long_rows, tally);
      Span span;
      if (end > start && pattern.col_idx != nullptr) {
        span.include(pattern.col_idx[start]);
        span.include(pattern.col_idx[end - 1]);
      }
      spans.count(span);
    }
    add_slots(lengths, slots);
  }
  for (std::size_t s = 0; s < slice_sizes.size(); ++s) add(block.sums().sliced_slots[s], slots[s]);
  spans.add_to(block);
  length_counts.add_to(tally);
}

}  // namespace autospmv::cuda::reading
