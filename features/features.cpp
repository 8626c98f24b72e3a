#include "features/features.hpp"

#include <cstddef>
#include <span>
#include <utility>

#include "core/machine/on_backend.hpp"
#include "features/cuda/features.hpp"
#include "features/host/reading.hpp"
#include "features/tally.hpp"

namespace autospmv {

namespace {

template <class T>
std::span<const T> values_of(const CsrView<T>& matrix) {
  return {matrix.values, static_cast<std::size_t>(matrix.nnz)};
}

template <class T, class Offset>
Features extract_on_host(const CsrView<T>& matrix, const Offset* row_ptr) {
  const Pattern<Offset> pattern{matrix.rows, matrix.cols, matrix.nnz, row_ptr, matrix.col_idx};
  auto [tally, long_rows] = host::read_rows(pattern);
  if (matrix.nnz > 0) {
    host::add_words(tally.sums, host::read_sample(pattern));
    host::count_values(values_of(matrix), tally.sums);
  }
  return finish(tally, matrix.rows, matrix.cols, matrix.nnz, std::move(long_rows));
}

template <class T, class Offset>
Features extract_rows_on_host(const CsrView<T>& matrix, const Offset* row_ptr) {
  auto [tally, long_rows] = host::read_rows(Pattern<Offset>{matrix.rows, matrix.cols, matrix.nnz, row_ptr, nullptr});
  return finish_rows(tally, matrix.rows, matrix.cols, matrix.nnz, std::move(long_rows));
}

}  // namespace

template <class T>
Features extract_features(const CsrView<T>& matrix, Place place) {
  return on_backend(
      place,
      [&] {
        return with_offsets(matrix.row_ptr, [&](const auto* row_ptr) { return extract_on_host(matrix, row_ptr); });
      },
      [&] { return cuda::extract_features(matrix, place); });
}

template <class T>
Features extract_row_features(const CsrView<T>& matrix, Place place) {
  return on_backend(
      place,
      [&] {
        return with_offsets(matrix.row_ptr, [&](const auto* row_ptr) { return extract_rows_on_host(matrix, row_ptr); });
      },
      [&] { return cuda::extract_row_features(matrix, place); });
}

template <class T>
Features extract_value_features(const CsrView<T>& matrix, Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::extract_value_features(matrix, place);
  }
  Tally tally;
  host::count_values(values_of(matrix), tally.sums);
  return finish(tally, matrix.rows, matrix.cols, matrix.nnz, {});
}

#define AUTOSPMV_EXTRACT(T)                                         \
  template Features extract_features(const CsrView<T>&, Place);     \
  template Features extract_row_features(const CsrView<T>&, Place); \
  template Features extract_value_features(const CsrView<T>&, Place);
AUTOSPMV_EXTRACT(float)
AUTOSPMV_EXTRACT(double)
#undef AUTOSPMV_EXTRACT

}  // namespace autospmv
