#include "features/cuda/features.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/machine/device.hpp"
#include "features/cuda/block_tally.cuh"
#include "features/cuda/blocks.cuh"
#include "features/cuda/positions.cuh"
#include "features/cuda/rows.cuh"
#include "features/cuda/second_pass.hpp"
#include "features/cuda/shares.cuh"
#include "features/cuda/values.cuh"
#include "features/cuda/workspace.hpp"

namespace autospmv::cuda {

namespace {

using namespace reading;

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

/// What was counted, and the first long rows, which are mostly all.
struct Found {
  static constexpr std::size_t some = 512;

  Tally tally;
  std::array<std::int64_t, some> long_rows;
};
static_assert(offsetof(Found, long_rows) == sizeof(Tally));

/// Waits for the stream.
Found fetch(Workspace& work) {
  Found found;
  const auto bytes = sizeof(Tally) + std::min(work.most_long_rows(), Found::some) * sizeof(std::int64_t);
  copy_bytes(&found, work.tally(), bytes, work.place(), work.stream());
  synchronize(work.place(), work.stream());
  return found;
}

std::vector<std::int64_t> all_long_rows(const Found& found, Workspace& work) {
  std::vector<std::int64_t> lengths(found.tally.sums.long_rows);
  std::copy_n(found.long_rows.begin(), std::min(lengths.size(), Found::some), lengths.begin());
  if (lengths.size() > Found::some) {
    copy_bytes(lengths.data() + Found::some, work.long_rows() + Found::some,
               (lengths.size() - Found::some) * sizeof(std::int64_t), work.place(), work.stream());
    synchronize(work.place(), work.stream());
  }
  return lengths;
}

/// The features of a matrix whose values were read.
template <class T>
Features finish_with_values(const Tally& tally, const CsrView<T>& matrix, std::vector<std::int64_t> long_rows) {
  auto features = finish(tally, matrix.rows, matrix.cols, matrix.nnz, std::move(long_rows));
  features.largest_magnitude = std::bit_cast<double>(tally.maxima.magnitude);
  return features;
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
  read_matrix<<<roles.blocks(), default_block, 0, InTurn(work.stream())>>>(reading, roles);
  check_launch();
  auto found = fetch(work);
  if (found.tally.sums.descents > 0) {
    read_unsorted(pattern, work);
    found = fetch(work);
  } else if (found.tally.sums.long_groups > 0) {
    count_long_groups(pattern, sample, Above::width, work);
    found = fetch(work);
  }
  return finish_with_values(found.tally, matrix, all_long_rows(found, work));
}

}  // namespace

template <class T>
Features extract_features(const CsrView<T>& matrix, Place place) {
  const DeviceScope scope(place);
  return with_offsets(matrix.row_ptr, [&](const auto* row_ptr) { return extract(matrix, row_ptr, place); });
}

template <class T>
Features extract_row_features(const CsrView<T>& matrix, Place place) {
  if (matrix.rows == 0) return finish_rows({}, matrix.rows, matrix.cols, matrix.nnz, {});
  const DeviceScope scope(place);
  Workspace work(0, 0, matrix.nnz, place);
  with_offsets(matrix.row_ptr, [&]<class Offset>(const Offset* row_ptr) {
    const Pattern<Offset> pattern{matrix.rows, matrix.cols, matrix.nnz, row_ptr, nullptr};
    read_rows_alone<<<blocks_for_rows(matrix.rows), default_block, 0, InTurn(work.stream())>>>(
        pattern, work.long_rows(), work.tally());
  });
  check_launch();
  const auto found = fetch(work);
  return finish_rows(found.tally, matrix.rows, matrix.cols, matrix.nnz, all_long_rows(found, work));
}

template <class T>
Features extract_value_features(const CsrView<T>& matrix, Place place) {
  if (matrix.nnz == 0) return finish({}, matrix.rows, matrix.cols, matrix.nnz, {});
  const DeviceScope scope(place);
  Workspace work(0, 0, 0, place);
  read_values_alone<<<blocks_for_shares(matrix.nnz), default_block, 0, InTurn(work.stream())>>>(
      matrix.values, matrix.nnz, work.values(), work.tally());
  check_launch();
  return finish_with_values(fetch(work).tally, matrix, {});
}

#define AUTOSPMV_EXTRACT(T)                                         \
  template Features extract_features(const CsrView<T>&, Place);     \
  template Features extract_row_features(const CsrView<T>&, Place); \
  template Features extract_value_features(const CsrView<T>&, Place);
AUTOSPMV_EXTRACT(float)
AUTOSPMV_EXTRACT(double)
#undef AUTOSPMV_EXTRACT

}  // namespace autospmv::cuda
