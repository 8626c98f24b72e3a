// The one owner of host and device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "autospmv/stream.hpp"
#include "core/machine/device.hpp"
#include "core/types.hpp"

namespace autospmv {

namespace detail {
// Device memory comes from a pool of this library's own, in the order of the device's setup stream, so that building
// a format costs no trip to the driver. Both throw DeviceError (allocate) or never throw (release).
void* allocate_bytes(std::size_t bytes, Place place);
void release_bytes(void* data, std::size_t bytes, Place place) noexcept;
}  // namespace detail

/// Copies between host and device in the order of the stream. Copies that touch pageable host memory have finished
/// when this returns, others may not have.
void copy_bytes(void* to, const void* from, std::size_t bytes, Place place, Stream stream);

/// Fills with a byte, in the order of the stream.
void fill_bytes(void* to, int byte, std::size_t bytes, Place place, Stream stream);

/// Gives memory that the pool keeps but nobody uses back to the device.
void trim_memory(Place place);

/// Where a pointer points to. Anything CUDA does not know of lies on the host; managed memory, which every device
/// reaches, on the current one.
Place place_at(const void* pointer);
/// Which memory that is.
inline Memory memory_at(const void* pointer) { return place_at(pointer).memory(); }

/// `size` elements, uninitialized, 256-byte aligned, in the memory of a device. Moves; does not copy.
/// Release happens in the order of the setup stream: whoever uses an array on another stream waits for that use to
/// end before letting go of it.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() = default;
  Array(std::size_t size, Place place) : size_(size), place_(place) {
    if (size > 0) data_ = static_cast<T*>(detail::allocate_bytes(size * sizeof(T), place_));
  }
  ~Array() {
    if (data_ != nullptr) detail::release_bytes(data_, size_ * sizeof(T), place_);
  }
  Array(Array&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), place_(other.place_) {}
  Array& operator=(Array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(place_, other.place_);
    return *this;
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  /// A copy of host or device elements at `place`, complete when this returns.
  static Array copy_of(std::span<const T> source, Place place) {
    Array array(source.size(), place);
    if (source.empty()) return array;
    array.assign(source, setup_stream(place));
    synchronize(place, setup_stream(place));
    return array;
  }

  /// Overwrites the elements, as many as there are, in the order of the stream.
  void assign(std::span<const T> source, Stream stream) {
    copy_bytes(data_, source.data(), source.size_bytes(), place_, stream);
  }

  [[nodiscard]] std::vector<T> to_vector() const {
    std::vector<T> copy(size_);
    copy_bytes(copy.data(), data_, size_ * sizeof(T), place_, setup_stream(place_));
    synchronize(place_, setup_stream(place_));
    return copy;
  }

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(size_ * sizeof(T)); }
  [[nodiscard]] Place place() const { return place_; }
  [[nodiscard]] std::span<T> span() { return {data_, size_}; }
  [[nodiscard]] std::span<const T> span() const { return {data_, size_}; }

  /// Element access, for arrays in host memory.
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  Place place_;
};

}  // namespace autospmv
