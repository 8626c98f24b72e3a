#include "core/reference.hpp"

#include <algorithm>
#include <limits>

#include "core/compensated.hpp"
#include "core/cuda/reference.hpp"
#include "core/parallel.hpp"

namespace autospmv {

namespace {

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
  std::visit(
      [&](const auto* row_ptr) {
        parallel_for(static_cast<std::int64_t>(size), [&](std::int64_t i) {
          const auto row = rows.empty() ? any_row(row_ptr, i) : rows[static_cast<std::size_t>(i)];
          CompensatedSum sum;
          for (std::int64_t k = row.first; k < row.first + row.length; ++k) {
            sum.add_product(matrix.values[k], x[matrix.col_idx[k]]);
          }
          finish_row(sum, alpha, beta, y0, row, i, reference.product.data(), reference.bound.data());
        });
      },
      matrix.row_ptr);
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
