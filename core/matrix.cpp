#include "core/matrix.hpp"

#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/array.hpp"
#include "core/cuda/kernels.hpp"
#include "core/cuda/runtime.hpp"
#include "core/error.hpp"
#include "core/pattern_check.hpp"

namespace autospmv {

namespace {

// The arrays of a matrix in one memory, as far as this library owns them.
template <class T>
struct Arrays {
  Array<std::int32_t> narrow_offsets;
  Array<std::int64_t> wide_offsets;
  Array<std::int32_t> col_idx;
  Array<T> values;
  CsrView<T> view;  // into these arrays, or into the caller's
};

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

// 64-bit offsets cost a product twice the bytes of 32-bit ones: they are kept only where they must be.
template <class T>
void keep_narrowed(Arrays<T>& arrays, std::span<const std::int64_t> row_ptr, Place place) {
  arrays.narrow_offsets = Array<std::int32_t>(row_ptr.size(), place);
  auto* narrow = arrays.narrow_offsets.data();
  arrays.view.row_ptr = static_cast<const std::int32_t*>(narrow);
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      const DeviceScope scope(place);
      cuda::narrow_offsets(row_ptr.data(), narrow, static_cast<std::int64_t>(row_ptr.size()), setup_stream(place));
      synchronize(place, setup_stream(place));
      return;
    }
  }
  for (std::size_t i = 0; i < row_ptr.size(); ++i) narrow[i] = static_cast<std::int32_t>(row_ptr[i]);
}

template <class T>
void keep_offsets(Arrays<T>& arrays, std::span<const std::int32_t> row_ptr, Ownership ownership, Place place) {
  arrays.view.row_ptr = ownership == Ownership::copy ? keep(arrays.narrow_offsets, row_ptr, place) : row_ptr.data();
}

template <class T>
void keep_offsets(Arrays<T>& arrays, std::span<const std::int64_t> row_ptr, Ownership ownership, Place place) {
  if (arrays.view.nnz <= max_narrow_nnz) {
    keep_narrowed(arrays, row_ptr, place);
  } else {
    arrays.view.row_ptr = ownership == Ownership::copy ? keep(arrays.wide_offsets, row_ptr, place) : row_ptr.data();
  }
}

// The same matrix at another place.
template <class T>
Arrays<T> mirror(const CsrView<T>& source, Place place) {
  const auto offsets = static_cast<std::size_t>(source.rows) + 1;
  const auto nnz = static_cast<std::size_t>(source.nnz);
  Arrays<T> copy;
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

template <Scalar T>
struct Matrix<T>::State {
  Place home;
  Ownership ownership = Ownership::copy;
  Arrays<T> arrays;

  mutable std::shared_mutex mutex;   // guards everything below
  std::map<int, Arrays<T>> on_cuda;  // copies, by ordinal
  std::optional<Arrays<T>> on_host;
  std::optional<Fingerprint> fingerprint;
  std::map<std::uint64_t, std::shared_ptr<Attachment<T>>> attachments;

  Arrays<T>* copy_at(Place place) {
    if (place.backend == Backend::host) return on_host ? &*on_host : nullptr;
    const auto at = on_cuda.find(place.ordinal);
    return at == on_cuda.end() ? nullptr : &at->second;
  }

  std::vector<std::shared_ptr<Attachment<T>>> all_attachments() const {
    const std::shared_lock lock(mutex);
    std::vector<std::shared_ptr<Attachment<T>>> all;
    for (const auto& [key, attachment] : attachments) all.push_back(attachment);
    return all;
  }

  template <class Offset>
  static std::shared_ptr<State> make(std::int64_t rows, std::int64_t cols, std::span<const Offset> row_ptr,
                                     std::span<const std::int32_t> col_idx, std::span<const T> values,
                                     Ownership ownership, Stream stream) {
    check_sizes(rows, cols, row_ptr.size(), col_idx.size(), values.size());
    auto state = std::make_shared<State>();
    state->home = place_of(row_ptr.data());
    state->ownership = ownership;
    const DeviceScope scope(state->home);
    if (!values.empty() && (place_of(col_idx.data()) != state->home || place_of(values.data()) != state->home)) {
      throw InvalidArgument("row_ptr, columns and values must lie in the same memory");
    }
    order_after(state->home, setup_stream(state->home), stream);
    const auto nnz = static_cast<std::int64_t>(values.size());
    check_pattern(rows, cols, nnz, row_ptr.data(), col_idx.data(), state->home);

    auto& arrays = state->arrays;
    arrays.view = {rows, cols, nnz, row_ptr.data(), col_idx.data(), values.data()};
    keep_offsets(arrays, row_ptr, ownership, state->home);
    if (ownership == Ownership::copy) {
      arrays.view.col_idx = keep(arrays.col_idx, col_idx, state->home);
      arrays.view.values = keep(arrays.values, values, state->home);
    }
    return state;
  }
};

template <Scalar T>
Matrix<T> Matrix<T>::from_csr(std::int64_t rows, std::int64_t cols, std::span<const std::int32_t> row_ptr,
                              std::span<const std::int32_t> col_idx, std::span<const T> values, Ownership ownership,
                              Stream stream) {
  return Matrix(State::make(rows, cols, row_ptr, col_idx, values, ownership, stream));
}

template <Scalar T>
Matrix<T> Matrix<T>::from_csr(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_ptr,
                              std::span<const std::int32_t> col_idx, std::span<const T> values, Ownership ownership,
                              Stream stream) {
  return Matrix(State::make(rows, cols, row_ptr, col_idx, values, ownership, stream));
}

template <Scalar T>
std::int64_t Matrix<T>::rows() const {
  return state_->arrays.view.rows;
}

template <Scalar T>
std::int64_t Matrix<T>::cols() const {
  return state_->arrays.view.cols;
}

template <Scalar T>
std::int64_t Matrix<T>::nnz() const {
  return state_->arrays.view.nnz;
}

template <Scalar T>
Place Matrix<T>::home() const {
  return state_->home;
}

template <Scalar T>
CsrView<T> Matrix<T>::on(Place place) const {
  const std::scoped_lock lock(state_->mutex);
  if (place == state_->home) return state_->arrays.view;
  if (const auto* copy = state_->copy_at(place)) return copy->view;
  const DeviceScope scope(place);
  auto copy = mirror(state_->arrays.view, place);
  if (place.backend == Backend::host) return state_->on_host.emplace(std::move(copy)).view;
  return state_->on_cuda.emplace(place.ordinal, std::move(copy)).first->second.view;
}

template <Scalar T>
const Fingerprint& Matrix<T>::fingerprint() const {
  {
    const std::shared_lock lock(state_->mutex);
    if (state_->fingerprint) return *state_->fingerprint;
  }
  const std::scoped_lock lock(state_->mutex);
  if (!state_->fingerprint) {
    // A copy on a CUDA device is read many times faster than one on the host.
    const bool copied = state_->home.backend == Backend::host && !state_->on_cuda.empty();
    const Place place = copied ? Place{Backend::cuda, state_->on_cuda.begin()->first} : state_->home;
    const auto& view = copied ? state_->on_cuda.begin()->second.view : state_->arrays.view;
    state_->fingerprint = fingerprint_of(view, place);
  }
  return *state_->fingerprint;
}

template <Scalar T>
void Matrix<T>::update_values(std::span<const T> values, Stream stream) {
  if (static_cast<std::int64_t>(values.size()) != nnz()) {
    throw InvalidArgument("update_values: " + std::to_string(values.size()) + " values for " + std::to_string(nnz()) +
                          " nonzeros");
  }
  // Before the lock that products take: they do not wait for what an attachment reads.
  const auto attached = state_->all_attachments();
  std::vector<std::unique_lock<std::mutex>> held;
  held.reserve(attached.size());
  for (const auto& attachment : attached) held.push_back(attachment->hold_values());
  const std::scoped_lock lock(state_->mutex);
  auto& state = *state_;
  if (state.ownership == Ownership::borrow && place_of(values.data()) == state.home) {
    state.arrays.view.values = values.data();
  } else if (state.ownership == Ownership::borrow) {
    throw InvalidArgument("update_values: a borrowing matrix takes values in the memory of its other arrays only");
  } else {
    state.arrays.values.assign(values, stream);
  }
  const auto refresh = [&](Arrays<T>& copy, Place place) {
    const DeviceScope scope(place);
    copy.values.assign(std::span(state.arrays.view.values, values.size()), stream);
  };
  for (auto& [ordinal, copy] : state.on_cuda) refresh(copy, {Backend::cuda, ordinal});
  if (state.on_host) refresh(*state.on_host, {});
  for (auto& [key, attachment] : state.attachments) {
    const auto place = attachment->place();
    const auto* copy = place == state.home ? &state.arrays : state.copy_at(place);
    const DeviceScope scope(place);
    attachment->values_changed(copy->view, stream);
  }
}

template <Scalar T>
std::shared_ptr<Attachment<T>> Matrix<T>::attachment(std::uint64_t key) const {
  const std::shared_lock lock(state_->mutex);
  const auto at = state_->attachments.find(key);
  return at == state_->attachments.end() ? nullptr : at->second;
}

template <Scalar T>
void Matrix<T>::attach(std::uint64_t key, std::shared_ptr<Attachment<T>> attachment) const {
  // What was there before is let go of without the lock: that may take long.
  const std::scoped_lock lock(state_->mutex);
  state_->attachments[key].swap(attachment);
}

template <Scalar T>
void Matrix<T>::detach(std::uint64_t key) const {
  std::shared_ptr<Attachment<T>> released;
  const std::scoped_lock lock(state_->mutex);
  const auto at = state_->attachments.find(key);
  if (at == state_->attachments.end()) return;
  released = std::move(at->second);
  state_->attachments.erase(at);
}

template class Matrix<float>;
template class Matrix<double>;

}  // namespace autospmv
