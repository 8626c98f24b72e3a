#include "core/matrix/matrix_data.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "core/cuda/kernels.hpp"
#include "core/cuda/runtime.hpp"
#include "core/error.hpp"
#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"
#include "core/matrix/pattern_check.hpp"
#include "core/matrix/transpose.hpp"
#include "core/verify/equal.hpp"

namespace autospmv {

Place place_of(const void* data) {
  if constexpr (built_with_cuda) {
    const int ordinal = cuda::device_of(data);
    if (ordinal >= 0) return {Backend::cuda, ordinal};
  }
  return {};
}

namespace {

template <class V>
const V* keep(Array<V>& storage, std::span<const V> source, Place place) {
  storage = Array<V>::copy_of(source, place);
  return storage.data();
}

void check_sizes(std::int64_t rows, std::int64_t cols, std::size_t offsets, std::size_t columns, std::size_t values) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (rows < 0 || cols < 0 || rows > most || cols > most) {
    throw InvalidArgument("a matrix of " + std::to_string(rows) + " x " + std::to_string(cols) +
                          ": dimensions go from 0 to 2^31 - 1");
  }
  if (offsets != static_cast<std::size_t>(rows) + 1) {
    throw InvalidArgument("row_ptr has " + std::to_string(offsets) +
                          " elements, not rows + 1 = " + std::to_string(rows + 1));
  }
  if (columns != values) {
    throw InvalidArgument("there are " + std::to_string(columns) + " columns, but " + std::to_string(values) +
                          " values");
  }
}

template <class T>
bool have_same_pattern(const CsrView<T>& a, const CsrView<T>& b, Place place) {
  if (a.rows != b.rows || a.cols != b.cols || a.nnz != b.nnz || a.wide() != b.wide()) return false;
  const bool same_offsets = with_offsets(a.row_ptr, [&](const auto* offsets) {
    const auto* others = std::get<std::decay_t<decltype(offsets)>>(b.row_ptr);
    return equal_bytes(offsets, others, (static_cast<std::size_t>(a.rows) + 1) * sizeof *offsets, place);
  });
  return same_offsets && equal_bytes(a.col_idx, b.col_idx, static_cast<std::size_t>(a.nnz) * sizeof *a.col_idx, place);
}

}  // namespace

template <class T>
template <class Offset, class Column>
MatrixData<T>::MatrixData(std::int64_t rows, std::int64_t cols, std::span<const Offset> row_ptr,
                          std::span<const Column> col_idx, std::span<const T> values, Ownership ownership,
                          Stream stream)
    : ownership_(ownership) {
  check_sizes(rows, cols, row_ptr.size(), col_idx.size(), values.size());
  home_ = place_of(row_ptr.data());
  const DeviceScope scope(home_);
  if (!values.empty() && (place_of(col_idx.data()) != home_ || place_of(values.data()) != home_)) {
    throw InvalidArgument("row_ptr, columns and values must lie in the same memory");
  }
  order_after(home_, setup_stream(home_), stream);
  const auto nnz = static_cast<std::int64_t>(values.size());
  arrays_.view = {rows, cols, nnz, row_ptr.data(), nullptr, values.data()};
  keep_columns(col_idx);
  longest_row_ = check_pattern(rows, cols, nnz, row_ptr.data(), arrays_.view.col_idx, home_);
  keep_offsets(row_ptr);
  if (ownership == Ownership::copy) arrays_.view.values = keep(arrays_.values, values, home_);
  made_.store(true, std::memory_order_relaxed);
}

// Values follow the copy of the original that lies at the same place.
template <class T>
MatrixData<T>::MatrixData(std::shared_ptr<const MatrixData> matrix, Place place)
    : home_(place), original_(std::move(matrix)) {
  const auto from = original_->on(place);
  auto pattern = transpose(from.rows, from.cols, from.nnz, from.row_ptr, from.col_idx, place);
  arrays_.view = {from.cols, from.rows, from.nnz, pattern.row_ptr(), pattern.col_idx.data(), nullptr};
  if (have_same_pattern(from, arrays_.view, place)) {
    arrays_.view.row_ptr = from.row_ptr;
    arrays_.view.col_idx = from.col_idx;
  } else {
    arrays_.narrow_offsets = std::move(pattern.narrow_offsets);
    arrays_.wide_offsets = std::move(pattern.wide_offsets);
    arrays_.col_idx = std::move(pattern.col_idx);
  }
  source_ = std::move(pattern.source);
  arrays_.values = Array<T>(source_.size(), place);
  arrays_.view.values = arrays_.values.data();
  permute(from.values, source_, arrays_.values.data(), place, setup_stream(place));
  synchronize(place, setup_stream(place));
}

template <class T>
std::vector<std::shared_ptr<MatrixData<T>>> MatrixData<T>::living_transposed() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<MatrixData>> living;
  for (const auto& one : transposed_) {
    if (auto transposed = one.lock()) living.push_back(std::move(transposed));
  }
  return living;
}

template <class T>
std::shared_ptr<MatrixData<T>> MatrixData<T>::find_transposed(Place place) const {
  for (auto& one : living_transposed()) {
    if (one->home() == place) return std::move(one);
  }
  return nullptr;
}

template <class T>
std::shared_ptr<const MatrixData<T>> MatrixData<T>::transposed(const std::shared_ptr<const MatrixData>& matrix,
                                                               Place place) {
  if (auto known = matrix->find_transposed(place)) return known;
  const DeviceScope scope(place);
  const auto values = matrix->hold_values();
  auto made = std::make_shared<MatrixData>(matrix, place);
  // Another thread may have made it meanwhile.
  if (auto known = matrix->find_transposed(place)) return known;
  const std::scoped_lock lock(matrix->mutex_);
  std::erase_if(matrix->transposed_, [](const auto& one) { return one.expired(); });
  matrix->transposed_.push_back(made);
  return made;
}

template <class T>
void MatrixData<T>::keep_offsets(std::span<const std::int32_t> row_ptr) {
  const bool copies = ownership_ == Ownership::copy;
  arrays_.view.row_ptr = copies ? keep(arrays_.narrow_offsets, row_ptr, home_) : row_ptr.data();
}

// 64-bit offsets cost a product twice the bytes of 32-bit ones: they are kept only where they must be.
template <class T>
void MatrixData<T>::keep_offsets(std::span<const std::int64_t> row_ptr) {
  if (arrays_.view.nnz > max_narrow_nnz) {
    const bool copies = ownership_ == Ownership::copy;
    arrays_.view.row_ptr = copies ? keep(arrays_.wide_offsets, row_ptr, home_) : row_ptr.data();
    return;
  }
  arrays_.narrow_offsets = Array<std::int32_t>(row_ptr.size(), home_);
  auto* narrow = arrays_.narrow_offsets.data();
  arrays_.view.row_ptr = static_cast<const std::int32_t*>(narrow);
  const auto size = static_cast<std::int64_t>(row_ptr.size());
  on_backend(
      home_,
      [&] {
        parallel_for(
            size, [&](std::int64_t i) { narrow[i] = static_cast<std::int32_t>(row_ptr[static_cast<std::size_t>(i)]); });
      },
      [&] {
        cuda::narrow_offsets(row_ptr.data(), narrow, size, setup_stream(home_));
        synchronize(home_, setup_stream(home_));
      });
}

template <class T>
void MatrixData<T>::keep_columns(std::span<const std::int32_t> col_idx) {
  const bool copies = ownership_ == Ownership::copy;
  arrays_.view.col_idx = copies ? keep(arrays_.col_idx, col_idx, home_) : col_idx.data();
}

template <class T>
void MatrixData<T>::keep_columns(std::span<const std::int64_t> col_idx) {
  arrays_.col_idx = Array<std::int32_t>(col_idx.size(), home_);
  auto* narrow = arrays_.col_idx.data();
  arrays_.view.col_idx = narrow;
  const auto size = static_cast<std::int64_t>(col_idx.size());
  on_backend(
      home_,
      [&] {
        parallel_for(size, [&](std::int64_t k) { narrow[k] = narrow_column(col_idx[static_cast<std::size_t>(k)]); });
      },
      [&] {
        cuda::narrow_columns(col_idx.data(), narrow, size, setup_stream(home_));
        synchronize(home_, setup_stream(home_));
      });
}

// The same matrix at another place.
template <class T>
typename MatrixData<T>::Arrays MatrixData<T>::mirror(const CsrView<T>& source, Place place) {
  const auto offsets = static_cast<std::size_t>(source.rows) + 1;
  const auto nnz = static_cast<std::size_t>(source.nnz);
  Arrays copy;
  copy.view = source;
  if (source.wide()) {
    copy.view.row_ptr = keep(copy.wide_offsets, std::span(std::get<1>(source.row_ptr), offsets), place);
  } else {
    copy.view.row_ptr = keep(copy.narrow_offsets, std::span(std::get<0>(source.row_ptr), offsets), place);
  }
  copy.view.col_idx = keep(copy.col_idx, std::span(source.col_idx, nnz), place);
  copy.view.values = keep(copy.values, std::span(source.values, nnz), place);
  return copy;
}

template <class T>
CsrView<T> MatrixData<T>::on(Place place) const {
  if (place == home_) return arrays_.view;
  const std::scoped_lock lock(mutex_);
  if (place.backend == Backend::host) {
    if (!on_host_) on_host_ = mirror(arrays_.view, place);
    return on_host_->view;
  }
  const auto at = on_cuda_.find(place.ordinal);
  if (at != on_cuda_.end()) return at->second.view;
  const DeviceScope scope(place);
  return on_cuda_.emplace(place.ordinal, mirror(arrays_.view, place)).first->second.view;
}

template <class T>
const Fingerprint& MatrixData<T>::fingerprint() const {
  const std::scoped_lock lock(mutex_);
  if (!fingerprint_) {
    // A copy on a CUDA device is read many times faster than one on the host.
    const bool copied = home_.backend == Backend::host && !on_cuda_.empty();
    const Place place = copied ? Place{Backend::cuda, on_cuda_.begin()->first} : home_;
    fingerprint_ = fingerprint_of(copied ? on_cuda_.begin()->second.view : arrays_.view, place);
  }
  return *fingerprint_;
}

template <class T>
void MatrixData<T>::add_observer(std::weak_ptr<ValuesObserver<T>> observer) const {
  const std::scoped_lock lock(mutex_);
  std::erase_if(observers_, [](const auto& one) { return one.expired(); });
  observers_.push_back(std::move(observer));
}

template <class T>
typename MatrixData<T>::Observers MatrixData<T>::living_observers() const {
  const std::scoped_lock lock(mutex_);
  Observers living;
  for (const auto& one : observers_) {
    if (auto observer = one.lock()) living.push_back(std::move(observer));
  }
  return living;
}

#define AUTOSPMV_MATRIX_FROM(T, Offset, Column)                                                                    \
  template MatrixData<T>::MatrixData(std::int64_t, std::int64_t, std::span<const Offset>, std::span<const Column>, \
                                     std::span<const T>, Ownership, Stream);
#define AUTOSPMV_MATRIX_DATA(T)                       \
  template class MatrixData<T>;                       \
  AUTOSPMV_MATRIX_FROM(T, std::int32_t, std::int32_t) \
  AUTOSPMV_MATRIX_FROM(T, std::int32_t, std::int64_t) \
  AUTOSPMV_MATRIX_FROM(T, std::int64_t, std::int32_t) \
  AUTOSPMV_MATRIX_FROM(T, std::int64_t, std::int64_t)
AUTOSPMV_MATRIX_DATA(float)
AUTOSPMV_MATRIX_DATA(double)
#undef AUTOSPMV_MATRIX_DATA
#undef AUTOSPMV_MATRIX_FROM

}  // namespace autospmv
