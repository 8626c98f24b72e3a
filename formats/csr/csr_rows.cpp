#include "formats/csr/csr_rows.hpp"

#include "formats/common/host/gathers.hpp"
#include "formats/common/host/host_shares.hpp"
#include "formats/common/host/packed_row.hpp"
#include "formats/common/host/row_partition.hpp"
#include "formats/common/host/row_sum.hpp"
#include "formats/common/host/versions.hpp"
#include "formats/common/kernels/dispatch.hpp"

namespace autospmv::formats {

namespace {

template <int Packs, class T, class Offset, class Store>
AUTOSPMV_INLINE void sum_in_packs(const CsrView<T>& matrix, const Offset* row_ptr, Share rows, const T* x,
                                  const Store& store) {
  constexpr int size = Pack<T>::size;
  const auto with_room = rows_for_packs<size>(row_ptr, rows, matrix.nnz);
  auto first = static_cast<std::int64_t>(row_ptr[rows.first]);
  for (auto row = rows.first; row < rows.last; ++row) {
    const auto last = static_cast<std::int64_t>(row_ptr[row + 1]);
    const T* values = matrix.values + first;
    const std::int32_t* columns = matrix.col_idx + first;
    store(row, row < with_room.last ? packed_row_sum<size, Packs>(values, columns, last - first, x)
                                    : last_row_sum<size>(values, columns, last - first, x));
    first = last;
  }
}

// In one sum, which waits for its own additions, or in two where these would take longer than to guess one thing more
// of a row.
template <class T, class Offset, class Store>
AUTOSPMV_INLINE void sum_scalars(const CsrView<T>& matrix, const Offset* row_ptr, Share rows, const T* x,
                                 const Store& store) {
  const T* values = matrix.values;
  const std::int32_t* columns = matrix.col_idx;
  RowRuns<Offset>(row_ptr, rows)
      .for_each([=](std::int64_t row, std::int64_t first, auto length, auto kind) AUTOSPMV_INLINE_LAMBDA {
        const auto product = [=](std::int64_t k)
                                 AUTOSPMV_INLINE_LAMBDA { return values[first + k] * x[columns[first + k]]; };
        if constexpr (kind != Lengths::known) {
          // The longer the less is foreseen.
          constexpr std::int64_t longest_single_sum = kind == Lengths::in_runs ? 16 : 32;
          if (length <= longest_single_sum) [[likely]]
            return store(row, row_sum<1, T>(length, product));
        }
        store(row, row_sum<2, T>(length, product));
      });
}

template <class T, class Offset, class Store>
AUTOSPMV_INLINE void sum_rows(const CsrView<T>& matrix, const Offset* row_ptr, int sums, Share rows, const T* x,
                              const Store& store) {
  if (sums == 4) return sum_rows_in_runs(row_ptr, rows, matrix.nnz, matrix.values, matrix.col_idx, x, store);
  if (sums == 8) return sum_in_packs<1>(matrix, row_ptr, rows, x, store);
  sum_in_packs<2>(matrix, row_ptr, rows, x, store);
}

// Calls sum_share(store) with what writes the sum of a row to where it belongs.
template <class T, class SumShare>
AUTOSPMV_INLINE void with_store(const CsrRows& shape, T alpha, T beta, T* y, const SumShare& sum_share) {
  if (shape.row_ids == nullptr && beta == T{0}) {
    sum_share([=](std::int64_t row, T sum) AUTOSPMV_INLINE_LAMBDA { y[row] = alpha * sum; });
  } else {
    sum_share([=](std::int64_t row, T sum) AUTOSPMV_INLINE_LAMBDA {
      host::store_row(y, shape.row_ids == nullptr ? row : shape.row_ids[row], alpha, sum, beta);
    });
  }
}

// Without fused multiplication and addition, which takes longer than an addition: each sum waits for its last one.
template <class T, class Offset>
void scalar_version(const CsrView<T>& matrix, const Offset* row_ptr, const CsrRows& shape, Share rows, T alpha,
                    const T* x, T beta, T* y) {
  with_store(shape, alpha, beta, y,
             [&](const auto& store) AUTOSPMV_INLINE_LAMBDA { sum_scalars(matrix, row_ptr, rows, x, store); });
}

#define AUTOSPMV_ROWS(T, Offset)                                                                                \
  AUTOSPMV_MULTIVERSION_SCALAR void pack_version(const CsrView<T>& matrix, const Offset* row_ptr,               \
                                                 const CsrRows& shape, Share rows, T alpha, const T* x, T beta, \
                                                 T* y) {                                                        \
    with_store(shape, alpha, beta, y, [&](const auto& store) AUTOSPMV_INLINE_LAMBDA {                           \
      sum_rows(matrix, row_ptr, shape.threads, rows, x, store);                                                 \
    });                                                                                                         \
  }
AUTOSPMV_EACH_OFFSET(AUTOSPMV_ROWS)
#undef AUTOSPMV_ROWS

#if AUTOSPMV_GATHERS
template <class T, class Offset>
AUTOSPMV_WITH_GATHERS void gathered_version(const CsrView<T>& matrix, const Offset* row_ptr, const CsrRows& shape,
                                            Share rows, T alpha, const T* x, T beta, T* y) {
  for (auto row = rows.first; row < rows.last; ++row) {
    const auto first = static_cast<std::int64_t>(row_ptr[row]);
    const T sum = gathered_row_sum(matrix.values + first, matrix.col_idx + first, row_ptr[row + 1] - first, x);
    host::store_row(y, shape.row_ids == nullptr ? row : shape.row_ids[row], alpha, sum, beta);
  }
}
#endif

}  // namespace

template <class T>
void multiply_csr_rows_host(const CsrView<T>& matrix, const CsrRows& shape, T alpha, const T* x, T beta, T* y) {
  [[maybe_unused]] static const bool gathers = has_gathers();
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    for_each_share(row_ptr, matrix.rows, [&](Share rows) {
      if (shape.threads == 2) {
        scalar_version(matrix, row_ptr, shape, rows, alpha, x, beta, y);
#if AUTOSPMV_GATHERS
      } else if (shape.threads == gathering_threads && gathers) {
        gathered_version(matrix, row_ptr, shape, rows, alpha, x, beta, y);
#endif
      } else {
        pack_version(matrix, row_ptr, shape, rows, alpha, x, beta, y);
      }
    });
  });
}

template void multiply_csr_rows_host(const CsrView<float>&, const CsrRows&, float, const float*, float, float*);
template void multiply_csr_rows_host(const CsrView<double>&, const CsrRows&, double, const double*, double, double*);

}  // namespace autospmv::formats
