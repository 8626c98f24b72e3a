#include "features/cuda/features.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "core/array.hpp"
#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "features/tally.hpp"

namespace autospmv::cuda {

namespace {

// Warps of a kernel that walks nonzeros, rows or values in shares: enough to fill any device of today, few enough that
// what each block adds to the tally at its end does not count.
constexpr std::int64_t max_warps = 1 << 14;
// Nonzeros of a share below which a warp is not worth starting.
constexpr std::int64_t least_share = 4 * warp_size;
constexpr int block_warps = default_block / warp_size;
constexpr unsigned all_lanes = 0xffffffffU;

unsigned grid_of_warps(std::int64_t warps) {
  return grid_for(std::clamp<std::int64_t>(warps, 1, max_warps) * warp_size);
}

unsigned grid_of_shares(std::int64_t size) { return grid_of_warps((size + least_share - 1) / least_share); }

__device__ int lane() { return static_cast<int>(threadIdx.x % warp_size); }

__device__ std::int64_t warp_index() {
  return static_cast<std::int64_t>(blockIdx.x) * block_warps + threadIdx.x / warp_size;
}

__device__ std::int64_t warp_count() { return static_cast<std::int64_t>(gridDim.x) * block_warps; }

/// What this warp takes of `size` elements: whole steps of a warp, next to each other.
struct WarpShare {
  std::int64_t first;
  std::int64_t last;
};

__device__ WarpShare share_of_warp(std::int64_t size) {
  const std::int64_t steps = (size + warp_size - 1) / warp_size;
  const std::int64_t share = (steps + warp_count() - 1) / warp_count() * warp_size;
  const std::int64_t first = min(warp_index() * share, size);
  return {first, min(first + share, size)};
}

// ---- From threads to the tally: lanes to their warp by shuffles, warps to their block in shared memory, blocks to the
// tally by atomics. Integers add up to the same in any order.

/// The counts of a block. Every thread of the block constructs one over the same shared memory.
class BlockTally {
 public:
  struct Counts {
    Sums sums;
    Maxima maxima;
  };

  __device__ explicit BlockTally(void* shared) : counts_(static_cast<Counts*>(shared)) {
    Count* const words = reinterpret_cast<Count*>(shared);
    for (int i = static_cast<int>(threadIdx.x); i < count_words<Counts>(); i += default_block) words[i] = 0;
    __syncthreads();
  }

  [[nodiscard]] __device__ Sums& sums() const { return counts_->sums; }
  [[nodiscard]] __device__ Maxima& maxima() const { return counts_->maxima; }

  /// Called by all threads of the block.
  __device__ void add_to(Tally& tally) const {
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < count_words<Sums>(); i += default_block) {
      if (words_of(counts_->sums)[i] != 0) atomicAdd(words_of(tally.sums) + i, words_of(counts_->sums)[i]);
    }
    for (int i = static_cast<int>(threadIdx.x); i < count_words<Maxima>(); i += default_block) {
      if (words_of(counts_->maxima)[i] != 0) atomicMax(words_of(tally.maxima) + i, words_of(counts_->maxima)[i]);
    }
  }

 private:
  Counts* counts_;
};

/// Called by all lanes of a warp.
__device__ void add(Count& block_sum, Count value) {
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2) value += __shfl_down_sync(all_lanes, value, lanes);
  if (lane() == 0 && value != 0) atomicAdd(&block_sum, value);
}

template <class V>
__device__ V largest_of(V value, int lanes) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    value = max(value, __shfl_xor_sync(all_lanes, value, distance));
  }
  return value;
}

__device__ void raise(Count& block_maximum, Count value) {
  value = largest_of(value, warp_size);
  if (lane() == 0) atomicMax(&block_maximum, value);
}

/// Counts that other blocks change while this one looks.
__device__ Count fresh(const Count& count) { return __ldcg(&count); }

// ---- Everything on the device that begins as 0, cleared at once.

/// Smallest and largest column of a slice of span_slice rows, so coded that 0 means none and larger means more: all
/// ones less the smallest column, and the largest column plus 1.
struct SliceSpan {
  unsigned smallest;
  unsigned largest;

  __device__ static unsigned code_smallest(std::int32_t column) { return ~static_cast<unsigned>(column); }
  __device__ static unsigned code_largest(std::int32_t column) { return static_cast<unsigned>(column) + 1; }
  [[nodiscard]] __device__ bool empty() const { return largest == 0; }
  [[nodiscard]] __device__ Count width() const { return (largest - 1) - ~smallest; }
};

class Workspace {
 public:
  Workspace(std::int64_t rows, std::int64_t cols, std::int64_t nnz, Place place)
      : slices_((rows + span_slice - 1) / span_slice),
        diagonal_words_((rows + cols + 31) / 32),
        memory_(tally_bytes + value_bytes + static_cast<std::size_t>(slices_) * sizeof(SliceSpan) +
                    static_cast<std::size_t>(diagonal_words_) * sizeof(unsigned),
                place),
        long_rows_(static_cast<std::size_t>(nnz / long_row), place) {
    fill_bytes(memory_.data(), 0, memory_.size(), place, setup_stream(place));
  }

  [[nodiscard]] Tally* tally() { return reinterpret_cast<Tally*>(memory_.data()); }
  /// value_slots bit patterns.
  [[nodiscard]] Count* values() { return reinterpret_cast<Count*>(memory_.data() + tally_bytes); }
  [[nodiscard]] SliceSpan* slices() { return reinterpret_cast<SliceSpan*>(memory_.data() + tally_bytes + value_bytes); }
  /// One bit for each diagonal.
  [[nodiscard]] unsigned* diagonals() { return reinterpret_cast<unsigned*>(slices() + slices_); }
  /// Lengths of the rows that are not counted by their length; not cleared.
  [[nodiscard]] std::int64_t* long_rows() { return long_rows_.data(); }

  [[nodiscard]] Place place() const { return memory_.place(); }
  [[nodiscard]] Stream stream() const { return setup_stream(place()); }

 private:
  static constexpr std::size_t tally_bytes = sizeof(Tally);
  static constexpr std::size_t value_bytes = value_slots * sizeof(Count);

  std::int64_t slices_;
  std::int64_t diagonal_words_;
  Array<std::uint8_t> memory_;
  Array<std::int64_t> long_rows_;
};

// ---- Nonzeros

/// The row that holds nonzero k, at `from` or after it: an exponential search, as the next one looked for is near.
template <class Offset>
__device__ std::int64_t row_holding(const Offset* row_ptr, std::int64_t rows, std::int64_t k, std::int64_t from) {
  std::int64_t low = from;
  std::int64_t step = 1;
  while (low + step < rows && row_ptr[low + step] <= k) {
    low += step;
    step *= 2;
  }
  std::int64_t high = min(low + step, rows);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (row_ptr[middle] <= k ? low : high) = middle;
  }
  return low;
}

/// Sets the bit of a diagonal; whether it was not set before.
__device__ bool see_diagonal(unsigned* diagonals, std::int64_t diagonal) {
  unsigned* const word = diagonals + diagonal / 32;
  const unsigned bit = 1U << (diagonal % 32);
  // Most diagonals are met again and again: a look spares the atomic.
  return (*word & bit) == 0 && (atomicOr(word, bit) & bit) == 0;
}

/// Only the columns at which a run of increasing ones begins or ends can be a row's smallest or largest: sorted rows
/// cost two atomics each.
template <class Offset>
__device__ void widen_slice(const Pattern<Offset>& pattern, std::int64_t i, std::int64_t k, SliceSpan* slices) {
  const std::int32_t column = pattern.col_idx[k];
  SliceSpan& slice = slices[i / span_slice];
  if (k == pattern.row_ptr[i] || pattern.col_idx[k - 1] >= column) {
    const unsigned code = SliceSpan::code_smallest(column);
    if (slice.smallest < code) atomicMax(&slice.smallest, code);
  }
  if (k + 1 == pattern.row_ptr[i + 1] || pattern.col_idx[k + 1] <= column) {
    const unsigned code = SliceSpan::code_largest(column);
    if (slice.largest < code) atomicMax(&slice.largest, code);
  }
}

/// What one lane learns from its nonzeros.
struct LaneCounts {
  Count descents = 0;
  Count asymmetry = 0;
  Count asymmetry_of_squares = 0;
  Count lower_bandwidth = 0;
  Count upper_bandwidth = 0;

  template <class Offset>
  __device__ void read(const Pattern<Offset>& pattern, std::int64_t i, std::int64_t k) {
    const std::int64_t j = pattern.col_idx[k];
    if (k > pattern.row_ptr[i] && pattern.col_idx[k - 1] >= j) ++descents;
    if (pattern.rows == pattern.cols) add_asymmetry(i, j, asymmetry, asymmetry_of_squares);
    if (i > j) lower_bandwidth = max(lower_bandwidth, static_cast<Count>(i - j));
    if (j > i) upper_bandwidth = max(upper_bandwidth, static_cast<Count>(j - i));
  }

  __device__ void add_to(const BlockTally& block) const {
    add(block.sums().descents, descents);
    add(block.sums().asymmetry[0], asymmetry);
    add(block.sums().asymmetry[1], asymmetry_of_squares);
    raise(block.maxima().lower_bandwidth, lower_bandwidth);
    raise(block.maxima().upper_bandwidth, upper_bandwidth);
  }
};

template <class Offset>
__global__ void __launch_bounds__(default_block)
    read_nonzeros(Pattern<Offset> pattern, SliceSpan* slices, unsigned* diagonals, Tally* tally) {
  __shared__ Count shared[count_words<BlockTally::Counts>()];
  const BlockTally block(shared);
  LaneCounts counts;
  bool few_diagonals = fresh(tally->sums.diagonals) <= diagonals_cap;
  std::int64_t i = 0;
  const WarpShare share = share_of_warp(pattern.nnz);
  for (std::int64_t step = share.first; step < share.last; step += warp_size) {
    const std::int64_t k = step + lane();
    bool new_diagonal = false;
    if (k < share.last) {
      i = row_holding(pattern.row_ptr, pattern.rows, k, i);
      counts.read(pattern, i, k);
      widen_slice(pattern, i, k, slices);
      new_diagonal = few_diagonals && see_diagonal(diagonals, pattern.col_idx[k] - i + pattern.rows - 1);
    }
    const int found = __popc(__ballot_sync(all_lanes, new_diagonal));
    if (found == 0) continue;
    // Counted at once, so that all warps hear of it when there are too many.
    if (lane() == 0) atomicAdd(&tally->sums.diagonals, static_cast<Count>(found));
    few_diagonals = fresh(tally->sums.diagonals) <= diagonals_cap;
  }
  counts.add_to(block);
  block.add_to(*tally);
}

// ---- Rows

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
    const unsigned alike = __match_any_sync(all_lanes, static_cast<int>(min(length, long_row)));
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
constexpr int slice_steps = static_cast<int>(largest_slice / warp_size);
static_assert(slice_steps == 4 && slice_sizes == std::array<int, 4>{16, 32, 64, 128} && span_slice == warp_size);

/// The slots that the rows of this lane, of these lengths or -1, take in slices of every size: each row takes as many
/// as the longest of its slice.
__device__ void add_slots(const std::int64_t (&lengths)[slice_steps], Count (&slots)[slice_sizes.size()]) {
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

template <class Offset>
__global__ void __launch_bounds__(default_block)
    read_rows(const Offset* row_ptr, std::int64_t rows, const SliceSpan* slices, std::int64_t* long_rows,
              Tally* tally) {
  __shared__ Count shared[count_words<BlockTally::Counts>()];
  __shared__ unsigned shared_lengths[long_row];
  const BlockTally block(shared);
  const LengthCounts length_counts(shared_lengths);
  Count slots[slice_sizes.size()] = {};
  Count span = 0;
  Count longest_span = 0;
  Count spanned = 0;
  for (std::int64_t first = warp_index() * largest_slice; first < rows; first += warp_count() * largest_slice) {
    std::int64_t lengths[slice_steps];
    for (int step = 0; step < slice_steps; ++step) {
      const std::int64_t i = first + step * warp_size + lane();
      lengths[step] = i < rows ? static_cast<std::int64_t>(row_ptr[i + 1] - row_ptr[i]) : -1;
      length_counts.count(lengths[step], long_rows, *tally);
    }
    add_slots(lengths, slots);
    const std::int64_t slice = first / span_slice + lane();
    if (lane() < slice_steps && slice * span_slice < rows && !slices[slice].empty()) {
      ++spanned;
      span += slices[slice].width();
      longest_span = max(longest_span, slices[slice].width());
    }
  }
  for (std::size_t s = 0; s < slice_sizes.size(); ++s) add(block.sums().sliced_slots[s], slots[s]);
  add(block.sums().span, span);
  add(block.sums().spanned_slices, spanned);
  raise(block.maxima().span, longest_span);
  block.add_to(*tally);
  length_counts.add_to(*tally);
}

// ---- Blocks: one for each nonzero that is the first of its block.

/// Whether sorted columns [first, last) hold one in [start, start + b).
template <class Offset>
__device__ bool holds(const std::int32_t* col_idx, Offset first, Offset last, std::int32_t start, int b) {
  const Offset end = last;
  while (first < last) {
    const Offset middle = first + (last - first) / 2;
    if (col_idx[middle] < start) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first < end && col_idx[first] - start < b;
}

/// Whether no nonzero of the block stands before nonzero k of row i, in its row or in an earlier one.
template <int b, class Offset>
__device__ bool first_of_block(const Offset* row_ptr, const std::int32_t* col_idx, std::int64_t i, std::int64_t k) {
  const std::int32_t start = col_idx[k] / b * b;
  if (k > row_ptr[i] && col_idx[k - 1] >= start) return false;
  for (std::int64_t above = i - i % b; above < i; ++above) {
    if (holds(col_idx, row_ptr[above], row_ptr[above + 1], start, b)) return false;
  }
  return true;
}

static_assert(block_sizes == std::array<int, 4>{2, 3, 4, 8});

/// Counts the blocks of the sampled rows. `offsets` are row offsets of the sampled rows put one below the other.
template <class Offset>
__global__ void __launch_bounds__(default_block)
    count_blocks(RowSample sample, std::int64_t sample_rows, const Offset* offsets, const Offset* row_ptr,
                 const std::int32_t* col_idx, Tally* tally) {
  __shared__ Count shared[count_words<BlockTally::Counts>()];
  const BlockTally block(shared);
  Count blocks[block_sizes.size()] = {};
  const std::int64_t sampled_nnz = offsets[sample_rows];
  std::int64_t position = 0;
  const WarpShare share = share_of_warp(sampled_nnz);
  for (std::int64_t at = share.first + lane(); at < share.last; at += warp_size) {
    position = row_holding(offsets, sample_rows, at, position);
    const std::int64_t i = sample.row(position);
    const std::int64_t k = row_ptr[i] + (at - offsets[position]);
    // Blocks of 2 lie within blocks of 4, and those within blocks of 8: no need to look where they have been met.
    const bool first_of_2 = first_of_block<2>(row_ptr, col_idx, i, k);
    const bool first_of_4 = first_of_2 && first_of_block<4>(row_ptr, col_idx, i, k);
    const bool first_of_8 = first_of_4 && first_of_block<8>(row_ptr, col_idx, i, k);
    blocks[0] += first_of_2 ? 1 : 0;
    blocks[1] += first_of_block<3>(row_ptr, col_idx, i, k) ? 1 : 0;
    blocks[2] += first_of_4 ? 1 : 0;
    blocks[3] += first_of_8 ? 1 : 0;
  }
  __syncwarp();
  for (std::size_t s = 0; s < block_sizes.size(); ++s) add(block.sums().blocks[s], blocks[s]);
  if (warp_index() == 0) add(block.sums().sampled_nnz, lane() == 0 ? static_cast<Count>(sampled_nnz) : 0);
  block.add_to(*tally);
}

template <class Offset>
__global__ void sampled_lengths(RowSample sample, std::int64_t sample_rows, const Offset* row_ptr, Offset* lengths) {
  const std::int64_t position = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (position > sample_rows) return;
  const std::int64_t i = position < sample_rows ? sample.row(position) : 0;
  lengths[position] = position < sample_rows ? row_ptr[i + 1] - row_ptr[i] : Offset{0};
}

/// The sampled nonzeros as keys that sort by row, then column, and as columns.
template <class Offset>
__global__ void __launch_bounds__(default_block)
    gather_sample(RowSample sample, std::int64_t sample_rows, const Offset* offsets, Pattern<Offset> pattern,
                  std::uint64_t* keys, std::int32_t* columns) {
  std::int64_t position = 0;
  const WarpShare share = share_of_warp(offsets[sample_rows]);
  for (std::int64_t at = share.first + lane(); at < share.last; at += warp_size) {
    position = row_holding(offsets, sample_rows, at, position);
    const std::int32_t column = pattern.col_idx[pattern.row_ptr[sample.row(position)] + (at - offsets[position])];
    keys[at] = static_cast<std::uint64_t>(position) << 32 | static_cast<std::uint64_t>(column);
    columns[at] = column;
  }
}

template <class Offset>
class BlockCounter {
 public:
  BlockCounter(const Pattern<Offset>& pattern, Place place)
      : pattern_(pattern),
        sample_(RowSample::of(pattern.rows, pattern.nnz)),
        sample_rows_(sample_.size()),
        place_(place),
        stream_(setup_stream(place)) {
    if (sample_.complete()) return;
    sampled_offsets_ = Array<Offset>(static_cast<std::size_t>(sample_rows_ + 1), place);
    sampled_lengths<<<grid_for(sample_rows_ + 1), default_block, 0, stream_.handle>>>(
        sample_, sample_rows_, pattern_.row_ptr, sampled_offsets_.data());
    check_launch();
    exclusive_scan(sampled_offsets_.data(), sampled_offsets_.data(), sample_rows_ + 1, place_, stream_);
  }

  /// Right where the columns of every row are sorted.
  void count(Tally* tally) const { launch(sample_, pattern_.row_ptr, pattern_.col_idx, tally); }

  /// Right for columns in any order: sorts a copy of the sample. Replaces what count() counted.
  void count_unsorted(Tally* tally) const {
    const std::int64_t nnz = sample_.complete() ? pattern_.nnz : read(offsets() + sample_rows_, stream_);
    Array<std::uint64_t> keys(static_cast<std::size_t>(nnz), place_);
    Array<std::int32_t> columns(static_cast<std::size_t>(nnz), place_);
    gather_sample<<<grid_of_shares(nnz), default_block, 0, stream_.handle>>>(sample_, sample_rows_, offsets(), pattern_,
                                                                             keys.data(), columns.data());
    check_launch();
    sort_pairs(keys, columns, 32 + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(sample_rows_))), stream_);
    fill_bytes(&tally->sums.sampled_nnz, 0, sizeof(tally->sums.sampled_nnz), place_, stream_);
    fill_bytes(&tally->sums.blocks, 0, sizeof(tally->sums.blocks), place_, stream_);
    launch(RowSample::all_of(sample_rows_), offsets(), columns.data(), tally);
  }

 private:
  [[nodiscard]] const Offset* offsets() const {
    return sample_.complete() ? pattern_.row_ptr : sampled_offsets_.data();
  }

  void launch(const RowSample& sample, const Offset* row_ptr, const std::int32_t* col_idx, Tally* tally) const {
    const auto grid = grid_of_shares(std::min(pattern_.nnz, feature_sample_nnz));
    count_blocks<<<grid, default_block, 0, stream_.handle>>>(sample, sample_rows_, offsets(), row_ptr, col_idx, tally);
    check_launch();
  }

  Pattern<Offset> pattern_;
  RowSample sample_;
  std::int64_t sample_rows_;
  Place place_;
  Stream stream_;
  Array<Offset> sampled_offsets_;
};

// ---- Values

/// Adds a bit pattern, not that of 0, to the table; false once there are too many to go on.
__device__ bool insert(Count* table, Count bits, Tally& tally) {
  for (auto slot = value_slot(bits);; slot = (slot + 1) % value_slots) {
    // Slots are filled once: what is read here is either final or free, and of that the atomic makes sure.
    Count found = table[slot];
    if (found == 0) found = atomicCAS(&table[slot], Count{0}, bits);
    if (found == 0) return atomicAdd(&tally.sums.distinct_values, Count{1}) < distinct_values_cap;
    if (found == bits) return true;
    if (fresh(tally.sums.distinct_values) > distinct_values_cap) return false;
  }
}

template <class T>
__global__ void __launch_bounds__(default_block)
    read_values(const T* values, std::int64_t nnz, Count* table, Tally* tally) {
  __shared__ Count shared[count_words<BlockTally::Counts>()];
  const BlockTally block(shared);
  bool counting = fresh(tally->sums.distinct_values) <= distinct_values_cap;
  bool exact = true;
  bool zero = false;
  const WarpShare share = share_of_warp(nnz);
  for (std::int64_t k = share.first + lane(); k < share.last; k += warp_size) {
    const Count bits = bits_of(values[k]);
    exact = exact && survives_float(values[k]);
    if (bits == 0) {
      zero = true;
    } else if (counting) {
      counting = insert(table, bits, *tally);
    }
    const bool nothing_left = !counting && (!exact || sizeof(T) == sizeof(float));
    if (nothing_left) break;
  }
  __syncwarp();
  add(block.sums().zero_values, zero ? 1 : 0);
  add(block.sums().inexact_values, exact ? 0 : 1);
  block.add_to(*tally);
}

// ---- All together

template <class T, class Offset>
void launch_readers(const CsrView<T>& matrix, const Pattern<Offset>& pattern, Workspace& work) {
  const auto stream = work.stream().handle;
  auto* const tally = work.tally();
  if (matrix.nnz > 0) {
    read_nonzeros<<<grid_of_shares(matrix.nnz), default_block, 0, stream>>>(pattern, work.slices(), work.diagonals(),
                                                                            tally);
    check_launch();
    read_values<<<grid_of_shares(matrix.nnz), default_block, 0, stream>>>(matrix.values, matrix.nnz, work.values(),
                                                                          tally);
    check_launch();
  }
  if (matrix.rows > 0) {
    // After the nonzeros, which leave the spans of the slices.
    const auto grid = grid_of_warps((matrix.rows + largest_slice - 1) / largest_slice);
    read_rows<<<grid, default_block, 0, stream>>>(pattern.row_ptr, matrix.rows, work.slices(), work.long_rows(), tally);
    check_launch();
  }
}

/// Waits for the stream.
Tally fetch(Workspace& work) {
  Tally tally;
  copy_bytes(&tally, work.tally(), sizeof(Tally), work.place(), work.stream());
  synchronize(work.place(), work.stream());
  return tally;
}

std::vector<std::int64_t> fetch_long_rows(Workspace& work, Count count) {
  std::vector<std::int64_t> lengths(count);
  copy_bytes(lengths.data(), work.long_rows(), count * sizeof(std::int64_t), work.place(), work.stream());
  synchronize(work.place(), work.stream());
  return lengths;
}

template <class T, class Offset>
Features extract(const CsrView<T>& matrix, const Offset* row_ptr, Place place) {
  const Pattern<Offset> pattern{matrix.rows, matrix.cols, matrix.nnz, row_ptr, matrix.col_idx};
  Workspace work(matrix.rows, matrix.cols, matrix.nnz, place);
  launch_readers(matrix, pattern, work);
  Tally tally;
  if (matrix.nnz > 0) {
    const BlockCounter<Offset> blocks(pattern, place);
    blocks.count(work.tally());
    tally = fetch(work);
    if (tally.sums.descents > 0) {
      blocks.count_unsorted(work.tally());
      tally = fetch(work);
    }
  } else {
    tally = fetch(work);
  }
  auto long_rows = tally.sums.long_rows > 0 ? fetch_long_rows(work, tally.sums.long_rows) : std::vector<std::int64_t>();
  return finish(tally, matrix.rows, matrix.cols, matrix.nnz, std::move(long_rows));
}

}  // namespace

template <class T>
Features extract_features(const CsrView<T>& matrix, Place place) {
  const DeviceScope scope(place);
  return std::visit([&](const auto* row_ptr) { return extract(matrix, row_ptr, place); }, matrix.row_ptr);
}

template Features extract_features(const CsrView<float>&, Place);
template Features extract_features(const CsrView<double>&, Place);

}  // namespace autospmv::cuda
