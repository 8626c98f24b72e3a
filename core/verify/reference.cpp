#include "core/verify/reference.hpp"

#include <algorithm>
#include <limits>

#include "core/cuda/reference.hpp"
#include "core/machine/parallel.hpp"
#include "core/machine/simd.hpp"
#include "core/verify/compensated.hpp"

namespace autospmv {

namespace {

template <class T>
struct Task {
  const CsrView<T>& matrix;
  T alpha;
  const T* x;
  T beta;
  const T* y0;
  const Array<LongRow>& rows;
  double* product;
  double* bound;
};

template <class T, class Offset>
AUTOSPMV_INLINE void multiply(const Task<T>& task, const Offset* row_ptr, Share share) {
  const T* values = task.matrix.values;
  const std::int32_t* columns = task.matrix.col_idx;
  for (std::int64_t i = share.first; i < share.last; ++i) {
    const auto row = task.rows.empty() ? any_row(row_ptr, i) : task.rows[static_cast<std::size_t>(i)];
    CompensatedSum sum;
    for (std::int64_t k = row.first; k < row.first + row.length; ++k) {
      sum.add_product(values[k], task.x[columns[k]]);
    }
    finish_row(sum, task.alpha, task.beta, task.y0, row, i, task.product, task.bound);
  }
}

// A fused multiply-add is a call of a function where the processor is not known to have one.
#define AUTOSPMV_MULTIPLY(T, Offset)                                                                          \
  AUTOSPMV_MULTIVERSION_SCALAR void multiply_share(const Task<T>& task, const Offset* row_ptr, Share share) { \
    multiply(task, row_ptr, share);                                                                           \
  }
AUTOSPMV_MULTIPLY(float, std::int32_t)
AUTOSPMV_MULTIPLY(float, std::int64_t)
AUTOSPMV_MULTIPLY(double, std::int32_t)
AUTOSPMV_MULTIPLY(double, std::int64_t)
#undef AUTOSPMV_MULTIPLY

Array<std::int64_t> numbers_of(const Array<LongRow>& rows, Place place) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(rows.size());
  for (const auto& row : rows.to_vector()) numbers.push_back(row.row);
  return Array<std::int64_t>::copy_of(numbers, place);
}

}  // namespace

template <class T>
Reference reference_product(const CsrView<T>& matrix, T alpha, const T* x, T beta, const T* y0, Place place,
                            const Array<LongRow>& rows) {
  const auto size = rows.empty() ? static_cast<std::size_t>(matrix.rows) : rows.size();
  Reference reference{Array<double>(size, place), Array<double>(size, place), numbers_of(rows, place)};
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      cuda::reference_product(matrix, alpha, x, beta, y0, reference, place, rows);
      return reference;
    }
  }
  const Task<T> task{matrix, alpha, x, beta, y0, rows, reference.product.data(), reference.bound.data()};
  const auto work = static_cast<std::int64_t>(size);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    parallel_region(work,
                    [&](int thread, int threads) { multiply_share(task, row_ptr, share_of(work, thread, threads)); });
  });
  return reference;
}

template <class T>
Comparison compare(const Reference& reference, const T* y, Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::compare(reference, y, place);
  }
  return parallel_reduce(
      static_cast<std::int64_t>(reference.product.size()), Comparison{},
      [&](Share share) {
        Comparison part;
        for (std::int64_t i = share.first; i < share.last; ++i) {
          const auto index = static_cast<std::size_t>(i);
          const std::int64_t row = reference.rows.empty() ? i : reference.rows[index];
          part = combine(part, judge(row_error(y[row], reference.product[index], reference.bound[index]), row));
        }
        return part;
      },
      combine);
}

template Reference reference_product(const CsrView<float>&, float, const float*, float, const float*, Place,
                                     const Array<LongRow>&);
template Reference reference_product(const CsrView<double>&, double, const double*, double, const double*, Place,
                                     const Array<LongRow>&);
template Comparison compare(const Reference&, const float*, Place);
template Comparison compare(const Reference&, const double*, Place);

}  // namespace autospmv
