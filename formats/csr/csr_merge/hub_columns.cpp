#include "formats/csr/csr_merge/hub_columns.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/cuda/nonzeros.hpp"
#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"

namespace autospmv::formats {

namespace host {

Array<std::int32_t> columns_by_count(const std::int32_t* columns, std::int64_t nnz, std::int64_t cols) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(cols), 0);
  for (std::int64_t k = 0; k < nnz; ++k) ++counts[static_cast<std::size_t>(columns[k])];
  const auto count_of = [&](std::int32_t column) { return counts[static_cast<std::size_t>(column)]; };
  std::vector<std::int32_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](std::int32_t column) { return count_of(column) == 0; });
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return count_of(a) > count_of(b); });
  return Array<std::int32_t>::copy_of(order, Place{});
}

Array<std::int32_t> renumber(const std::int32_t* columns, std::int64_t nnz, std::int64_t cols,
                             const Array<std::int32_t>& order) {
  std::vector<std::int32_t> number(static_cast<std::size_t>(cols), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    number[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  }
  Array<std::int32_t> renumbered(static_cast<std::size_t>(nnz), Place{});
  parallel_for(nnz, [&](std::int64_t k) {
    renumbered[static_cast<std::size_t>(k)] = number[static_cast<std::size_t>(columns[k])];
  });
  return renumbered;
}

}  // namespace host

// Where the matrix lies decides which of two functions runs; the steps are the same.
template <class T>
HubColumns<T>::HubColumns(const CsrView<T>& matrix, Place place, Stream stream) {
  on_backend(
      place,
      [&] {
        order_ = host::columns_by_count(matrix.col_idx, matrix.nnz, matrix.cols);
        columns_ = host::renumber(matrix.col_idx, matrix.nnz, matrix.cols, order_);
      },
      [&] {
        order_ = device::columns_by_count(matrix.col_idx, matrix.nnz, matrix.cols, place, stream);
        columns_ = device::renumber(matrix.col_idx, matrix.nnz, matrix.cols, order_, stream);
      });
}

template <class T>
void HubColumns<T>::reorder(const T* x, Array<T>& reordered, Stream stream) const {
  const auto size = static_cast<std::int64_t>(order_.size());
  const auto* order = order_.data();
  auto* to = reordered.data();
  on_backend(
      order_.place(), [&] { parallel_for(size, [=](std::int64_t i) { to[i] = x[order[i]]; }); },
      [&] { cuda::gather(x, order, to, size, stream); });
}

template class HubColumns<float>;
template class HubColumns<double>;

}  // namespace autospmv::formats
