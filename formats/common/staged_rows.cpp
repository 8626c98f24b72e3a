#include "formats/common/staged_rows.hpp"

#include <atomic>

#include "core/parallel.hpp"
#include "core/simd.hpp"
#include "formats/common/row_sum.hpp"
#include "formats/common/walks.hpp"

namespace autospmv::formats {

template <class T>
PartSums<T> make_part_sums(const RowBlocks& blocks, Place place, Stream stream) {
  PartSums<T> parts;
  if (!blocks.split) return parts;
  const auto count = static_cast<std::size_t>(blocks.count());
  parts.sums = Array<T>(count, place);
  if (place.backend == Backend::cuda) {
    parts.finished = Array<std::uint32_t>(count, place);
    fill_bytes(parts.finished.data(), 0, static_cast<std::size_t>(parts.finished.bytes()), place, stream);
  }
  return parts;
}

// Blocks are given to threads as these become free; too few of them leave some idle.
double row_block_imbalance(double blocks, const Device& device) {
  return std::max(1.0, device.multiprocessors / std::max(1.0, blocks));
}

Walk walk_of_row_blocks(const Features& features, const RowBlockLimits& limits, double blocks,
                        double threads_of_block) {
  constexpr double steps_of_row = 0.5;
  // A block of several rows stages its products and waits for all of them before it adds them up.
  constexpr double steps_of_staging = 1;
  constexpr double waiting = 6;
  const double threads = std::max(1.0, blocks) * threads_of_block;
  const auto longest =
      static_cast<double>(limits.part > 0 ? std::min(limits.part, features.npr_max) : features.npr_max);
  const double steps =
      (static_cast<double>(features.nnz) + steps_of_row * static_cast<double>(features.rows)) / threads;
  // Two rows of more than two thirds of a block do not come together in one.
  const double staged = sum_over_rows(
      features, [&](double length) { return 1.5 * length <= static_cast<double>(limits.entries) ? length : 0; });
  const double share = staged / std::max(1.0, static_cast<double>(features.nnz));
  return {.threads = threads,
          .steps = steps + share * steps_of_staging,
          .longest = std::max(steps, longest / threads_of_block) + share * waiting};
}

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

// Multiversioned functions cannot be templates, so one overload stands for each type.
#define AUTOSPMV_STAGED(T, Offset)                                                                                    \
  AUTOSPMV_MULTIVERSION_SCALAR void version(const CsrView<T>& matrix, const Offset* row_ptr, const RowBlocks& blocks, \
                                            Share share, T* part_sums, T alpha, const T* x, T beta, T* y) {           \
    multiply_blocks(matrix, row_ptr, blocks, share, part_sums, alpha, x, beta, y);                                    \
  }
AUTOSPMV_STAGED(float, std::int32_t)
AUTOSPMV_STAGED(float, std::int64_t)
AUTOSPMV_STAGED(double, std::int32_t)
AUTOSPMV_STAGED(double, std::int64_t)
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
  std::visit(
      [&](const auto* row_ptr) {
        parallel_region(matrix.nnz + matrix.rows, [&](int /*thread*/, int threads) {
          const int shares = threads * shares_of_thread;
          for (int share = taken++; share < shares; share = taken++) {
            version(matrix, row_ptr, blocks, share_of(blocks.count(), share, shares), parts.sums.data(), alpha, x, beta,
                    y);
          }
        });
      },
      matrix.row_ptr);
  if (blocks.split) add_parts(blocks, static_cast<const T*>(parts.sums.data()), alpha, beta, y);
}

#define AUTOSPMV_STAGED(T)                                              \
  template PartSums<T> make_part_sums(const RowBlocks&, Place, Stream); \
  template void multiply_staged_rows_host(const CsrView<T>&, const RowBlocks&, PartSums<T>&, T, const T*, T, T*);
AUTOSPMV_STAGED(float)
AUTOSPMV_STAGED(double)
#undef AUTOSPMV_STAGED

}  // namespace autospmv::formats
