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

namespace autospmv {

namespace {

Place place_of(const void* data) {
  if constexpr (built_with_cuda) {
    const int ordinal = cuda::device_of(data);
    if (ordinal >= 0) return {Backend::cuda, ordinal};
  }
  return {};
}

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
  check_pattern(rows, cols, nnz, row_ptr.data(), arrays_.view.col_idx, home_);
  keep_offsets(row_ptr);
  if (ownership == Ownership::copy) arrays_.view.values = keep(arrays_.values, values, home_);
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

// One update of one copy of the matrix, and of who follows it.
template <class T>
class MatrixData<T>::Update {
 public:
  Update(Arrays& arrays, Place place, bool borrowed, const Observers& all, Stream stream)
      : arrays_(arrays), place_(place), borrowed_(borrowed), stream_(stream), next_(arrays.view) {
    for (const auto& observer : all) {
      if (observer->place() == place) observers_.push_back(observer.get());
    }
  }

  void prepare(std::span<const T> values) {
    const DeviceScope scope(place_);
    values_ = values;
    if (place_.backend == Backend::host) {
      prepare_host();
    } else {
      prepare_device();
    }
  }

  void abandon() {
    const DeviceScope scope(place_);
    while (prepared_ > 0) observers_[--prepared_]->abandon(arrays_.view, stream_);
    if (!staged_.empty()) synchronize(place_, stream_);
  }

  void commit() {
    const DeviceScope scope(place_);
    if (place_.backend == Backend::host) {
      if (!borrowed_) std::swap(arrays_.values, arrays_.spare_values);
      arrays_.view.values = next_.values;  // products ask for the sizes meanwhile
    } else if (!borrowed_) {
      arrays_.values.assign(staged_.empty() ? values_ : staged_.span(), stream_);
    }
    for (auto* observer : observers_) observer->commit(arrays_.view, stream_);
    if (place_.backend == Backend::host) {
      // The caller may do away with the array that was borrowed before.
      if (borrowed_) drain();
    } else if (!staged_.empty()) {
      synchronize(place_, stream_);
    } else if (!is_capturing(place_, stream_)) {
      // What this library does with the values by itself.
      order_after(place_, setup_stream(place_), stream_);
    }
  }

 private:
  void drain() {
    for (auto* observer : observers_) observer->drain();
  }

  void prepare_host() {
    drain();
    if (borrowed_) {
      next_.values = values_.data();
    } else {
      auto& spare = arrays_.spare_values;
      if (spare.size() != values_.size()) spare = Array<T>(values_.size(), place_);
      spare.assign(values_, stream_);
      next_.values = spare.data();
    }
    for (auto* observer : observers_) {
      ++prepared_;
      observer->prepare(next_, stream_);
    }
  }

  // Whoever may find that the new values do not fit sees them before the old ones are overwritten.
  void prepare_device() {
    if (borrowed_ && values_.data() != arrays_.view.values) {
      throw InvalidArgument("update_values: on a device, a borrowing matrix takes values in the array that it borrows");
    }
    std::stable_partition(observers_.begin(), observers_.end(),
                          [](const auto* observer) { return !observer->takes_any_values(); });
    if (observers_.empty() || observers_.front()->takes_any_values()) return;
    if (is_capturing(place_, stream_)) {
      throw InvalidArgument("update_values: " + std::string("values that a plan stores in fewer bits cannot be ") +
                            "replaced in a stream that is being captured");
    }
    if (!borrowed_) {
      staged_ = Array<T>(values_.size(), place_);
      order_after(place_, stream_, setup_stream(place_));
      staged_.assign(values_, stream_);
      next_.values = staged_.data();
    }
    for (auto* observer : observers_) {
      if (observer->takes_any_values()) break;
      ++prepared_;
      observer->prepare(next_, stream_);
    }
  }

  Arrays& arrays_;
  Place place_;
  bool borrowed_;
  Stream stream_;
  CsrView<T> next_;
  std::span<const T> values_;
  Array<T> staged_;
  std::vector<ValuesObserver<T>*> observers_;
  std::size_t prepared_ = 0;
};

template <class T>
void MatrixData<T>::update_values(std::span<const T> values, Stream stream) {
  if (static_cast<std::int64_t>(values.size()) != nnz()) {
    throw InvalidArgument("update_values: " + std::to_string(values.size()) + " values for " + std::to_string(nnz()) +
                          " nonzeros");
  }
  if (values.empty()) return;
  const bool borrowed = ownership_ == Ownership::borrow;
  if (borrowed && place_of(values.data()) != home_) {
    throw InvalidArgument("update_values: a borrowing matrix takes values in the memory of its other arrays only");
  }
  Observers observers;  // let go of without the lock: the last one of a plan waits for who may be waiting for it
  const std::scoped_lock alone(updating_);
  observers = living_observers();
  const std::scoped_lock lock(mutex_);
  std::vector<Update> updates;
  updates.emplace_back(arrays_, home_, borrowed, observers, stream);
  for (auto& [ordinal, copy] : on_cuda_)
    updates.emplace_back(copy, Place{Backend::cuda, ordinal}, false, observers, stream);
  if (on_host_) updates.emplace_back(*on_host_, Place{}, false, observers, stream);
  try {
    for (auto& update : updates) update.prepare(values);
  } catch (...) {
    for (auto& update : updates) update.abandon();
    throw;
  }
  for (auto& update : updates) update.commit();
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
