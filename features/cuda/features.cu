#include "features/cuda/features.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/array.hpp"
#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/cuda/warp_search.cuh"
#include "core/search.hpp"
#include "features/cuda/value_table.cuh"
#include "features/tally.hpp"

namespace autospmv::cuda {

namespace {

// Warps of a kernel that walks nonzeros, rows or values in shares: enough to fill any device of today, few enough that
// what each block adds to the tally at its end does not count.
constexpr std::int64_t max_warps = 1 << 14;
// Nonzeros of a share below which a warp is not worth starting.
constexpr std::int64_t least_share = 4 * warp_size;
constexpr int block_warps = default_block / warp_size;
// Sampled nonzeros of a group of rows that are left to all blocks together.
constexpr std::int64_t long_group = 1 << 13;

// One launch reads everything: on small matrices a launch costs as much as what it reads. Each block has one role.

/// Blocks with the same role, and this one among them.
struct Part {
  unsigned block = 0;
  unsigned blocks = 1;

  [[nodiscard]] __device__ std::int64_t warp() const {
    return static_cast<std::int64_t>(block) * block_warps + threadIdx.x / warp_size;
  }
  [[nodiscard]] __device__ std::int64_t warps() const { return static_cast<std::int64_t>(blocks) * block_warps; }
};

unsigned blocks_for_warps(std::int64_t warps) {
  return grid_for(std::clamp<std::int64_t>(warps, 1, max_warps) * warp_size);
}

unsigned blocks_for_rows(std::int64_t rows) { return blocks_for_warps((rows + largest_slice - 1) / largest_slice); }

unsigned blocks_for_shares(std::int64_t size) {
  return size == 0 ? 0 : blocks_for_warps((size + least_share - 1) / least_share);
}

__device__ int lane() { return static_cast<int>(threadIdx.x % warp_size); }

/// What this warp takes of `size` elements: whole steps of a warp, next to each other.
struct WarpShare {
  std::int64_t first;
  std::int64_t last;
};

__device__ WarpShare share_of_warp(std::int64_t size, Part part) {
  const std::int64_t steps = (size + warp_size - 1) / warp_size;
  const std::int64_t share = (steps + part.warps() - 1) / part.warps() * warp_size;
  const std::int64_t first = min(part.warp() * share, size);
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
  for (int lanes = warp_size / 2; lanes > 0; lanes /= 2) value += __shfl_down_sync(cuda::all_lanes, value, lanes);
  if (lane() == 0 && value != 0) atomicAdd(&block_sum, value);
}

template <class V>
__device__ V largest_of(V value, int lanes) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    value = max(value, __shfl_xor_sync(cuda::all_lanes, value, distance));
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

class Workspace {
 public:
  Workspace(std::int64_t rows, std::int64_t cols, std::int64_t nnz, Place place)
      : memory_(tally_bytes + value_bytes + static_cast<std::size_t>((rows + cols + 31) / 32) * sizeof(unsigned),
                place),
        long_rows_(static_cast<std::size_t>(nnz / long_row), place),
        long_groups_(static_cast<std::size_t>(nnz / long_group), place) {
    fill_bytes(memory_.data(), 0, memory_.size(), place, setup_stream(place));
  }

  [[nodiscard]] Tally* tally() { return reinterpret_cast<Tally*>(memory_.data()); }
  /// value_slots bit patterns.
  [[nodiscard]] Count* values() { return reinterpret_cast<Count*>(memory_.data() + tally_bytes); }
  /// One bit for each diagonal.
  [[nodiscard]] unsigned* diagonals() {
    return reinterpret_cast<unsigned*>(memory_.data() + tally_bytes + value_bytes);
  }
  /// Lengths of the rows that are not counted by their length; not cleared.
  [[nodiscard]] std::int64_t* long_rows() { return long_rows_.data(); }

  /// Groups of sampled rows that are too long for one block; not cleared.
  [[nodiscard]] std::int64_t* long_groups() { return long_groups_.data(); }

  [[nodiscard]] Place place() const { return memory_.place(); }
  [[nodiscard]] Stream stream() const { return setup_stream(place()); }

 private:
  static constexpr std::size_t tally_bytes = sizeof(Tally);
  static constexpr std::size_t value_bytes = value_slots * sizeof(Count);

  Array<std::uint8_t> memory_;
  Array<std::int64_t> long_rows_;
  Array<std::int64_t> long_groups_;
};

// ---- Nonzeros

/// The diagonals met so far, a bit for each.
class Diagonals {
 public:
  __device__ explicit Diagonals(unsigned* bits) : bits_(bits) {}

  /// Whether this lane is the first of all to meet its diagonal, which is -1 where it looks for none. Called by all
  /// lanes of a warp.
  __device__ bool meet(std::int64_t diagonal) const {
    // Most diagonals are met again and again: a look, which may come from a cache and be old, spares the rest.
    const bool unseen = diagonal >= 0 && (bits_[diagonal / 32] & bit(diagonal)) == 0;
    if (!__any_sync(cuda::all_lanes, unseen)) return false;
    // Neighbours often meet the same one, and atomics on the same word wait for each other.
    const unsigned alike = __match_any_sync(cuda::all_lanes, unseen ? diagonal : std::int64_t{-1});
    if (!unseen || lane() != __ffs(static_cast<int>(alike)) - 1) return false;
    unsigned* const word = bits_ + diagonal / 32;
    return (__ldcg(word) & bit(diagonal)) == 0 && (atomicOr(word, bit(diagonal)) & bit(diagonal)) == 0;
  }

 private:
  __device__ static unsigned bit(std::int64_t diagonal) { return 1U << (diagonal % 32); }

  unsigned* bits_;
};

/// What one lane learns from its nonzeros.
struct LaneCounts {
  Count descents = 0;
  Count asymmetry = 0;
  Count lower_bandwidth = 0;
  Count upper_bandwidth = 0;

  template <class Offset>
  __device__ void read(const Pattern<Offset>& pattern, std::int64_t i, std::int64_t k) {
    const std::int64_t j = pattern.col_idx[k];
    if (k > pattern.row_ptr[i] && pattern.col_idx[k - 1] >= j) ++descents;
    if (pattern.rows == pattern.cols) asymmetry += asymmetry_of(i, j);
    if (i > j) lower_bandwidth = max(lower_bandwidth, static_cast<Count>(i - j));
    if (j > i) upper_bandwidth = max(upper_bandwidth, static_cast<Count>(j - i));
  }

  __device__ void add_to(const BlockTally& block) const {
    add(block.sums().descents, descents);
    add(block.sums().asymmetry, asymmetry);
    raise(block.maxima().lower_bandwidth, lower_bandwidth);
    raise(block.maxima().upper_bandwidth, upper_bandwidth);
  }
};

template <class Offset>
__device__ void read_nonzeros(const Pattern<Offset>& pattern, unsigned* diagonal_bits, Part part,
                              const BlockTally& block, Tally& tally) {
  const Diagonals diagonals(diagonal_bits);
  LaneCounts counts;
  bool few_diagonals = __any_sync(cuda::all_lanes, fresh(tally.sums.diagonals) <= diagonals_cap);
  const WarpShare share = share_of_warp(pattern.nnz, part);
  std::int64_t i = share.first < share.last ? part_of_by_warp(pattern.row_ptr, pattern.rows, share.first) : 0;
  for (std::int64_t step = share.first; step < share.last; step += warp_size) {
    const std::int64_t k = step + lane();
    std::int64_t diagonal = -1;
    if (k < share.last) {
      i = part_near(pattern.row_ptr, i, pattern.rows, k);
      counts.read(pattern, i, k);
      diagonal = pattern.col_idx[k] - i + pattern.rows - 1;
    }
    if (!few_diagonals) continue;
    const int found = __popc(__ballot_sync(cuda::all_lanes, diagonals.meet(diagonal)));
    if (found == 0) continue;
    // Counted at once, so that all warps hear of it when there are too many.
    if (lane() == 0) atomicAdd(&tally.sums.diagonals, static_cast<Count>(found));
    few_diagonals = __any_sync(cuda::all_lanes, fresh(tally.sums.diagonals) <= diagonals_cap);
  }
  counts.add_to(block);
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

/// The spans for columns in any order.
template <class Offset>
__global__ void __launch_bounds__(default_block) read_unsorted_spans(Pattern<Offset> pattern, Tally* tally) {
  __shared__ Count shared[count_words<BlockTally::Counts>()];
  const BlockTally block(shared);
  const Part part{blockIdx.x, gridDim.x};
  SpanCounts spans;
  for (std::int64_t first = part.warp() * span_slice; first < pattern.rows; first += part.warps() * span_slice) {
    const std::int64_t end = pattern.row_ptr[min(first + span_slice, pattern.rows)];
    Span span;
    for (std::int64_t k = pattern.row_ptr[first] + lane(); k < end; k += warp_size) span.include(pattern.col_idx[k]);
    __syncwarp();
    spans.count(span);
  }
  spans.add_to(block);
  block.add_to(*tally);
}

// ---- Blocks: one for each nonzero that is the first of its block.

static_assert(block_sizes == std::array<int, 4>{2, 3, 4, 8});

/// Rows above a row that may share a block with it.
constexpr int most_above = block_sizes.back() - 1;

/// What the rows above hold of the blocks that a nonzero lies in, from the leftmost column of those blocks on.
class Above {
 public:
  static constexpr int width = 12;  // blocks of 3 may stick out by 2 columns on either side of a block of 8

  /// `row` counts from the first of its group, whose `offsets` are given; columns are sorted in every row, and at most
  /// `most_steps` entries of a row lie in the blocks: `width`, where none are stored twice.
  __device__ Above(const std::int64_t* offsets, const std::int32_t* col_idx, int row, std::int32_t column,
                   std::int64_t most_steps)
      : left_(min(column / 8 * 8, column / 3 * 3)) {
    const int above = max(row % 8, row % 3);
    std::int64_t low[most_above];
    std::int64_t high[most_above];
#pragma unroll
    for (int d = 0; d < most_above; ++d) {
      low[d] = d < above ? offsets[row - 1 - d] : 0;
      high[d] = d < above ? offsets[row - d] : 0;
    }
    // Where the blocks begin in each row: all searches side by side, or each would wait for the loads of the others.
    for (bool searching = above > 0; searching;) {
      searching = false;
#pragma unroll
      for (int d = 0; d < most_above; ++d) {
        if (low[d] == high[d]) continue;
        const std::int64_t middle = low[d] + (high[d] - low[d]) / 2;
        const bool before = col_idx[middle] < left_;
        low[d] = before ? middle + 1 : low[d];
        high[d] = before ? high[d] : middle;
        searching = true;
      }
    }
#pragma unroll
    for (int d = 0; d < most_above; ++d) {
      const std::int64_t end = d < above ? offsets[row - d] : 0;
      for (std::int64_t k = low[d]; k < min(end, low[d] + most_steps); ++k) {
        const std::int32_t column_of_block = col_idx[k] - left_;
        if (column_of_block < 0 || column_of_block >= width) break;
        held_[d] |= 1U << column_of_block;
      }
    }
  }

  /// Whether a row above of the same block row holds a nonzero of the b x b block at column `start`.
  template <int b>
  [[nodiscard]] __device__ bool hold(int row, std::int32_t start) const {
    const unsigned columns = ((1U << b) - 1) << (start - left_);
    unsigned held = 0;
#pragma unroll
    for (int d = 0; d < b - 1; ++d) held |= d < row % b ? held_[d] : 0U;
    return (held & columns) != 0;
  }

 private:
  std::int32_t left_;
  unsigned held_[most_above] = {};
};

/// Counts the blocks of a sample, each at its first nonzero.
template <class Offset>
class BlockCounter {
 public:
  /// At most `most_steps` entries of a row lie in the blocks of one nonzero.
  __device__ BlockCounter(const Pattern<Offset>& pattern, const RowSample& sample, std::int64_t most_steps,
                          std::int64_t* offsets)
      : pattern_(pattern), sample_(sample), most_steps_(most_steps), offsets_(offsets) {}

  /// Called by all threads of a block, and so is count.
  __device__ void open(std::int64_t group) {
    __syncthreads();
    const std::int64_t first_row = sample_.row(group * RowSample::group_rows);
    rows_ = static_cast<int>(min(RowSample::group_rows, pattern_.rows - first_row));
    for (int row = static_cast<int>(threadIdx.x); row <= rows_; row += default_block) {
      offsets_[row] = pattern_.row_ptr[first_row + row];
    }
    __syncthreads();
  }

  [[nodiscard]] __device__ std::int64_t nnz() const { return offsets_[rows_] - offsets_[0]; }

  /// One of so many pieces of the open group.
  __device__ void count(std::int64_t piece, std::int64_t pieces) {
    const std::int64_t end = offsets_[0] + nnz() * (piece + 1) / pieces;
    for (std::int64_t k = offsets_[0] + nnz() * piece / pieces + threadIdx.x; k < end; k += default_block) count(k);
  }

  __device__ void add_to(const BlockTally& block) const {
    __syncwarp();
    for (std::size_t s = 0; s < block_sizes.size(); ++s) add(block.sums().blocks[s], blocks_[s]);
  }

 private:
  __device__ void count(std::int64_t k) {
    const int row = static_cast<int>(part_near(offsets_, std::int64_t{0}, std::int64_t{rows_}, k));
    const std::int32_t column = pattern_.col_idx[k];
    const std::int32_t before = k > offsets_[row] ? pattern_.col_idx[k - 1] : -1;
    const Above above(offsets_, pattern_.col_idx, row, column, most_steps_);
    const auto count_first = [&](auto size, Count& blocks) {
      const std::int32_t start = column / size.value * size.value;
      if (before < start && !above.template hold<size.value>(row, start)) ++blocks;
    };
    count_first(std::integral_constant<int, 2>{}, blocks_[0]);
    count_first(std::integral_constant<int, 3>{}, blocks_[1]);
    count_first(std::integral_constant<int, 4>{}, blocks_[2]);
    count_first(std::integral_constant<int, 8>{}, blocks_[3]);
  }

  const Pattern<Offset>& pattern_;
  const RowSample& sample_;
  std::int64_t most_steps_;
  std::int64_t* offsets_;  // of the open group, in shared memory
  int rows_ = 0;
  Count blocks_[block_sizes.size()] = {};
};

/// Several blocks of threads share a group of rows, but leave long ones to count_long_groups.
template <class Offset>
__device__ void count_blocks(const Pattern<Offset>& pattern, const RowSample& sample, std::int64_t most_steps,
                             std::int64_t* long_groups, Part part, const BlockTally& block, Tally& tally) {
  __shared__ std::int64_t offsets[RowSample::group_rows + 1];
  const auto group = static_cast<std::int64_t>(part.block) % sample.taken;
  const std::int64_t piece = part.block / sample.taken;
  const std::int64_t pieces = (part.blocks - 1 - group) / sample.taken + 1;
  BlockCounter<Offset> counter(pattern, sample, most_steps, offsets);
  counter.open(group);
  const bool is_long = counter.nnz() > long_group * pieces;
  if (piece == 0 && threadIdx.x == 0) {
    block.sums().sampled_nnz = static_cast<Count>(counter.nnz());
    if (is_long) long_groups[atomicAdd(&tally.sums.long_groups, Count{1})] = group;
  }
  if (!is_long) counter.count(piece, pieces);
  counter.add_to(block);
}

/// A block of threads takes a slice of the sampled rows after another.
template <class Offset>
__device__ void count_slice_diagonals(const Pattern<Offset>& pattern, const RowSample& sample, Part part,
                                      const BlockTally& block) {
  __shared__ BlockValueTable met;
  for (std::int64_t slice = part.block; slice < sample.taken * RowSample::group_slices; slice += part.blocks) {
    const std::int64_t first = sample.row(slice * span_slice);
    if (first >= pattern.rows) break;
    met.clear();
    const std::int64_t end = pattern.row_ptr[min(first + span_slice, pattern.rows)];
    std::int64_t i = first;
    for (std::int64_t k = pattern.row_ptr[first] + threadIdx.x; k < end; k += default_block) {
      i = part_near(pattern.row_ptr, i, pattern.rows, k);
      if (!met.insert(diagonal_key(pattern.rows, i, pattern.col_idx[k]))) break;
    }
    __syncthreads();
    if (threadIdx.x == 0 && met.found() > 0) {
      block.sums().slice_diagonals += min(Count{met.found()}, Count{slice_diagonals_cap + 1});
      ++block.sums().met_slices;
    }
    __syncthreads();
  }
}

template <class Offset>
__global__ void __launch_bounds__(default_block)
    count_long_groups(Pattern<Offset> pattern, RowSample sample, std::int64_t most_steps,
                      const std::int64_t* long_groups, Tally* tally) {
  __shared__ Count shared[count_words<BlockTally::Counts>()];
  __shared__ std::int64_t offsets[RowSample::group_rows + 1];
  const BlockTally block(shared);
  BlockCounter<Offset> counter(pattern, sample, most_steps, offsets);
  for (Count at = 0; at < fresh(tally->sums.long_groups); ++at) {
    counter.open(long_groups[at]);
    counter.count(blockIdx.x, gridDim.x);
  }
  counter.add_to(block);
  block.add_to(*tally);
}

/// Blocks of threads that count a sample: enough to fill the device.
constexpr std::int64_t enough_blocks = 1024;

unsigned blocks_for_sample(const RowSample& sample) {
  return static_cast<unsigned>(sample.taken *
                               std::max<std::int64_t>(1, enough_blocks / std::max<std::int64_t>(1, sample.taken)));
}

unsigned blocks_for_slices(const RowSample& sample) {
  return static_cast<unsigned>(std::min(enough_blocks, sample.taken * RowSample::group_slices));
}

template <class Offset>
void launch_long_groups(const Pattern<Offset>& pattern, const RowSample& sample, std::int64_t most_steps,
                        Workspace& work) {
  count_long_groups<<<enough_blocks, default_block, 0, work.stream().handle>>>(pattern, sample, most_steps,
                                                                               work.long_groups(), work.tally());
  check_launch();
}

template <class Offset>
__global__ void __launch_bounds__(default_block)
    count_sorted_blocks(Pattern<Offset> pattern, RowSample sample, std::int64_t* long_groups, Tally* tally) {
  __shared__ Count shared[count_words<BlockTally::Counts>()];
  const BlockTally block(shared);
  count_blocks(pattern, sample, pattern.nnz, long_groups, {blockIdx.x, gridDim.x}, block, *tally);
  block.add_to(*tally);
}

template <class Offset>
__global__ void sampled_lengths(RowSample sample, std::int64_t sample_rows, const Offset* row_ptr, Offset* lengths) {
  const std::int64_t position = cuda::global_thread();
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
  const WarpShare share = share_of_warp(offsets[sample_rows], {blockIdx.x, gridDim.x});
  for (std::int64_t at = share.first + lane(); at < share.last; at += warp_size) {
    position = part_near(offsets, position, sample_rows, at);
    const std::int32_t column = pattern.col_idx[pattern.row_ptr[sample.row(position)] + (at - offsets[position])];
    keys[at] = static_cast<std::uint64_t>(position) << 32 | static_cast<std::uint64_t>(column);
    columns[at] = column;
  }
}

/// Counts the blocks of a matrix with unsorted columns: sorts a copy of the sample.
template <class Offset>
void count_unsorted_blocks(const Pattern<Offset>& pattern, Workspace& work) {
  const auto place = work.place();
  const auto stream = work.stream();
  const auto sample = RowSample::of(pattern.rows, pattern.nnz);
  const std::int64_t rows = sample.size();
  Array<Offset> offsets(static_cast<std::size_t>(rows + 1), place);
  sampled_lengths<<<grid_for(rows + 1), default_block, 0, stream.handle>>>(sample, rows, pattern.row_ptr,
                                                                           offsets.data());
  check_launch();
  exclusive_scan(offsets.data(), offsets.data(), rows + 1, place, stream);
  const std::int64_t nnz = read(offsets.data() + rows, stream);
  if (nnz == 0) return;
  Array<std::uint64_t> keys(static_cast<std::size_t>(nnz), place);
  Array<std::int32_t> columns(static_cast<std::size_t>(nnz), place);
  gather_sample<<<blocks_for_shares(nnz), default_block, 0, stream.handle>>>(sample, rows, offsets.data(), pattern,
                                                                             keys.data(), columns.data());
  check_launch();
  sort_pairs(keys, columns, 32 + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows))), stream);
  const Pattern<Offset> sorted{rows, pattern.cols, nnz, offsets.data(), columns.data()};
  const auto all = RowSample::all_of(rows);
  count_sorted_blocks<<<blocks_for_sample(all), default_block, 0, stream.handle>>>(sorted, all, work.long_groups(),
                                                                                   work.tally());
  check_launch();
  launch_long_groups(sorted, all, nnz, work);
}

// ---- Values

template <class T>
__device__ void read_values(const T* values, std::int64_t nnz, Count* table, Part part, const BlockTally& block,
                            Tally& tally) {
  __shared__ BlockValueTable block_table;
  block_table.clear();
  bool counting = true;
  bool exact = true;
  bool zero = false;
  const WarpShare share = share_of_warp(nnz, part);
  for (std::int64_t k = share.first + lane(); k < share.last; k += warp_size) {
    const Count bits = bits_of(values[k]);
    exact = exact && survives_float(values[k]);
    if (bits == 0) {
      zero = true;
    } else if (counting) {
      counting = block_table.insert(bits);
    }
    const bool nothing_left = !counting && (!exact || sizeof(T) == sizeof(float));
    if (nothing_left) break;
  }
  __syncwarp();
  add(block.sums().zero_values, zero ? 1 : 0);
  add(block.sums().inexact_values, exact ? 0 : 1);
  block_table.merge_into(table, &tally.sums.distinct_values);
}

// ---- All together

template <class T, class Offset>
struct Reading {
  Pattern<Offset> pattern;
  const T* values;
  RowSample sample;
  unsigned* diagonals;
  std::int64_t* long_rows;
  std::int64_t* long_groups;
  Count* value_table;
  Tally* tally;
};

/// How many blocks have each role, in the order in which they start.
struct Roles {
  unsigned count_blocks;
  unsigned slices;
  unsigned values;
  unsigned rows;
  unsigned nonzeros;

  [[nodiscard]] unsigned blocks() const { return count_blocks + slices + values + rows + nonzeros; }
};

template <class T, class Offset>
__global__ void __launch_bounds__(default_block) read_matrix(Reading<T, Offset> reading, Roles roles) {
  __shared__ Count shared[count_words<BlockTally::Counts>()];
  const BlockTally block(shared);
  unsigned index = blockIdx.x;
  if (index < roles.count_blocks) {
    count_blocks(reading.pattern, reading.sample, Above::width, reading.long_groups, {index, roles.count_blocks}, block,
                 *reading.tally);
  } else if ((index -= roles.count_blocks) < roles.slices) {
    count_slice_diagonals(reading.pattern, reading.sample, {index, roles.slices}, block);
  } else if ((index -= roles.slices) < roles.values) {
    read_values(reading.values, reading.pattern.nnz, reading.value_table, {index, roles.values}, block, *reading.tally);
  } else if ((index -= roles.values) < roles.rows) {
    read_rows(reading.pattern, reading.long_rows, {index, roles.rows}, block, *reading.tally);
  } else {
    read_nonzeros(reading.pattern, reading.diagonals, {index - roles.rows, roles.nonzeros}, block, *reading.tally);
  }
  block.add_to(*reading.tally);
}

template <class Offset>
__global__ void __launch_bounds__(default_block)
    read_rows_alone(Pattern<Offset> pattern, std::int64_t* long_rows, Tally* tally) {
  __shared__ Count shared[count_words<BlockTally::Counts>()];
  const BlockTally block(shared);
  read_rows(pattern, long_rows, {blockIdx.x, gridDim.x}, block, *tally);
  block.add_to(*tally);
}

template <class T>
__global__ void __launch_bounds__(default_block)
    read_values_alone(const T* values, std::int64_t nnz, Count* table, Tally* tally) {
  __shared__ Count shared[count_words<BlockTally::Counts>()];
  const BlockTally block(shared);
  read_values(values, nnz, table, {blockIdx.x, gridDim.x}, block, *tally);
  block.add_to(*tally);
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

/// Reads again what read_matrix reads of sorted rows only.
template <class Offset>
void read_unsorted(const Pattern<Offset>& pattern, Workspace& work) {
  auto* const tally = work.tally();
  const auto clear = [&](auto* counts) { fill_bytes(counts, 0, sizeof *counts, work.place(), work.stream()); };
  clear(&tally->sums.sampled_nnz);
  clear(&tally->sums.blocks);
  clear(&tally->sums.long_groups);
  clear(&tally->sums.span);
  clear(&tally->sums.spanned_slices);
  clear(&tally->maxima.span);
  read_unsorted_spans<<<blocks_for_warps((pattern.rows + span_slice - 1) / span_slice), default_block, 0,
                        work.stream().handle>>>(pattern, tally);
  check_launch();
  count_unsorted_blocks(pattern, work);
}

template <class T, class Offset>
Features extract(const CsrView<T>& matrix, const Offset* row_ptr, Place place) {
  const Pattern<Offset> pattern{matrix.rows, matrix.cols, matrix.nnz, row_ptr, matrix.col_idx};
  const auto sample = RowSample::of(matrix.rows, matrix.nnz);
  const Roles roles{.count_blocks = matrix.nnz > 0 ? blocks_for_sample(sample) : 0,
                    .slices = matrix.nnz > 0 ? blocks_for_slices(sample) : 0,
                    .values = blocks_for_shares(matrix.nnz),
                    .rows = matrix.rows > 0 ? blocks_for_rows(matrix.rows) : 0,
                    .nonzeros = blocks_for_shares(matrix.nnz)};
  if (roles.blocks() == 0) return finish({}, matrix.rows, matrix.cols, matrix.nnz, {});
  Workspace work(matrix.rows, matrix.cols, matrix.nnz, place);
  const Reading<T, Offset> reading{pattern,          matrix.values,      sample,        work.diagonals(),
                                   work.long_rows(), work.long_groups(), work.values(), work.tally()};
  read_matrix<<<roles.blocks(), default_block, 0, work.stream().handle>>>(reading, roles);
  check_launch();
  Tally tally = fetch(work);
  if (tally.sums.descents > 0) {
    read_unsorted(pattern, work);
    tally = fetch(work);
  } else if (tally.sums.long_groups > 0) {
    launch_long_groups(pattern, sample, Above::width, work);
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

template <class T>
Features extract_row_features(const CsrView<T>& matrix, Place place) {
  if (matrix.rows == 0) return finish_rows({}, matrix.rows, matrix.cols, matrix.nnz, {});
  const DeviceScope scope(place);
  Workspace work(0, 0, matrix.nnz, place);
  std::visit(
      [&]<class Offset>(const Offset* row_ptr) {
        const Pattern<Offset> pattern{matrix.rows, matrix.cols, matrix.nnz, row_ptr, nullptr};
        read_rows_alone<<<blocks_for_rows(matrix.rows), default_block, 0, work.stream().handle>>>(
            pattern, work.long_rows(), work.tally());
      },
      matrix.row_ptr);
  check_launch();
  const Tally tally = fetch(work);
  auto long_rows = tally.sums.long_rows > 0 ? fetch_long_rows(work, tally.sums.long_rows) : std::vector<std::int64_t>();
  return finish_rows(tally, matrix.rows, matrix.cols, matrix.nnz, std::move(long_rows));
}

template <class T>
Features extract_value_features(const CsrView<T>& matrix, Place place) {
  if (matrix.nnz == 0) return finish({}, matrix.rows, matrix.cols, matrix.nnz, {});
  const DeviceScope scope(place);
  Workspace work(0, 0, 0, place);
  read_values_alone<<<blocks_for_shares(matrix.nnz), default_block, 0, work.stream().handle>>>(
      matrix.values, matrix.nnz, work.values(), work.tally());
  check_launch();
  return finish(fetch(work), matrix.rows, matrix.cols, matrix.nnz, {});
}

#define AUTOSPMV_EXTRACT(T)                                         \
  template Features extract_features(const CsrView<T>&, Place);     \
  template Features extract_row_features(const CsrView<T>&, Place); \
  template Features extract_value_features(const CsrView<T>&, Place);
AUTOSPMV_EXTRACT(float)
AUTOSPMV_EXTRACT(double)
#undef AUTOSPMV_EXTRACT

}  // namespace autospmv::cuda
