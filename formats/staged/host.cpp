#include <atomic>

#include "core/machine/parallel.hpp"
#include "formats/common/host/row_sum.hpp"
#include "formats/common/host/versions.hpp"
#include "formats/staged/storage.hpp"

namespace autospmv::formats {

namespace {

template <class T>
AUTOSPMV_INLINE void store_row(T* y, std::int64_t row, T alpha, T sum, T beta) {
  y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
}

template <class T, class Offset>
AUTOSPMV_INLINE void multiply_blocks(const CsrView<T>& matrix, const Offset* row_ptr, const RowBlocks& blocks,
                                     Share share, T* part_sums, T alpha, const T* x, T beta, T* y) {
  constexpr int lanes = 4;
  const T* values = matrix.values;
  const std::int32_t* columns = matrix.col_idx;
  const BlockStart* starts = blocks.starts.data();
  T staged[most_staged_on_host];
  for (std::int64_t block = share.first; block < share.last; ++block) {
    const auto first_row = starts[block].row;
    const auto last_row = starts[block + 1].row;
    const auto first = starts[block].entry;
    const auto last = starts[block + 1].entry;
    if (last_row - first_row <= 1) {
      const T sum = row_sum<lanes, T>(last - first, [&](std::int64_t k) AUTOSPMV_INLINE_LAMBDA {
        return values[first + k] * x[columns[first + k]];
      });
      const bool is_part = last_row == first_row || (block > 0 && starts[block - 1].row == first_row);
      if (is_part) {
        part_sums[block] = sum;
      } else {
        store_row(y, first_row, alpha, sum, beta);
      }
      continue;
    }
    for (std::int64_t k = first; k < last; ++k) staged[k - first] = values[k] * x[columns[k]];
    const T* of_row = staged;
    for (std::int64_t row = first_row; row < last_row; ++row) {
      const auto length = static_cast<std::int64_t>(row_ptr[row + 1] - row_ptr[row]);
      const T sum = row_sum<lanes, T>(length, [&](std::int64_t k) AUTOSPMV_INLINE_LAMBDA {
        return of_row[k];  // NOLINT(clang-analyzer-core.uninitialized.UndefReturn): as many are staged as rows have
      });
      store_row(y, row, alpha, sum, beta);
      of_row += length;
    }
  }
}

#define AUTOSPMV_STAGED(T, Offset)                                                                                    \
  AUTOSPMV_MULTIVERSION_SCALAR void version(const CsrView<T>& matrix, const Offset* row_ptr, const RowBlocks& blocks, \
                                            Share share, T* part_sums, T alpha, const T* x, T beta, T* y) {           \
    multiply_blocks(matrix, row_ptr, blocks, share, part_sums, alpha, x, beta, y);                                    \
  }
AUTOSPMV_EACH_OFFSET(AUTOSPMV_STAGED)
#undef AUTOSPMV_STAGED

template <class T>
void add_parts(const RowBlocks& blocks, const T* part_sums, T alpha, T beta, T* y) {
  const BlockStart* starts = blocks.starts.data();
  for (std::int64_t block = 0; block < blocks.count(); ++block) {
    const std::int64_t row = starts[block].row;
    if (starts[block + 1].row != row) continue;
    T sum = part_sums[block];
    while (starts[block + 1].row == row) sum += part_sums[++block];
    store_row(y, row, alpha, sum, beta);
  }
}

}  // namespace

template <class T>
void multiply_staged_rows_host(const CsrView<T>& matrix, const RowBlocks& blocks, PartSums<T>& parts, T alpha,
                               const T* x, T beta, T* y) {
  // Equal blocks are not equal times where x is scattered: several shares a thread, taken as they come.
  constexpr int shares_of_thread = 4;
  std::atomic<int> taken{0};
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    parallel_region(matrix.nnz + matrix.rows, [&](int /*thread*/, int threads) {
      const int shares = threads * shares_of_thread;
      for (int share = taken++; share < shares; share = taken++) {
        version(matrix, row_ptr, blocks, share_of(blocks.count(), share, shares), parts.sums.data(), alpha, x, beta, y);
      }
    });
  });
  if (blocks.split) add_parts(blocks, static_cast<const T*>(parts.sums.data()), alpha, beta, y);
}

#define AUTOSPMV_STAGED(T) \
  template void multiply_staged_rows_host(const CsrView<T>&, const RowBlocks&, PartSums<T>&, T, const T*, T, T*);
AUTOSPMV_STAGED(float)
AUTOSPMV_STAGED(double)
#undef AUTOSPMV_STAGED

}  // namespace autospmv::formats
