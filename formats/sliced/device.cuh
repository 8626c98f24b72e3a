// What kernels read of the sliced layout.
#pragma once

#include <cstdint>

#include "formats/sliced/storage.hpp"

namespace autospmv::formats::cuda_steps {

// What the kernels need of a SlicedMatrix besides its slots, by value.
struct SlicedView {
  std::int64_t rows;
  std::int64_t slice_rows;
  std::int64_t slices;
  std::int64_t width_cap;
  const std::int32_t* slice_chunks;
  const std::int32_t* row_order;  // nullptr: its own
  std::int32_t* lengths;          // nullptr: padding is marked

  __device__ std::int64_t row_at(std::int64_t position) const {
    return row_order == nullptr ? position : row_order[position];
  }
};

template <class T>
SlicedView view_of(const SlicedMatrix<T>& sliced) {
  // The product only reads what conversion writes.
  auto& writable = const_cast<SlicedMatrix<T>&>(sliced);
  return {sliced.rows,
          sliced.slice_rows,
          sliced.slices,
          sliced.layout.width_cap,
          sliced.slice_chunks.data(),
          sliced.row_order.empty() ? nullptr : sliced.row_order.data(),
          sliced.lengths.empty() ? nullptr : writable.lengths.data()};
}

}  // namespace autospmv::formats::cuda_steps
