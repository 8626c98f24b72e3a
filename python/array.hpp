// Arrays as Python hands them over: of any library, in host memory or on a CUDA device.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <autospmv/types.hpp>

namespace autospmv::python {

/// Any array that is contiguous in host memory.
using HostArray = nanobind::ndarray<nanobind::ro, nanobind::device::cpu, nanobind::c_contig>;
using WritableArray = nanobind::ndarray<nanobind::device::cpu, nanobind::c_contig>;
/// The same in any memory.
using AnyArray = nanobind::ndarray<nanobind::ro, nanobind::c_contig>;

/// Python hands addresses over as numbers.
template <class T>
T* pointer_to(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

template <class T>
constexpr const char* dtype_name() {
  if constexpr (std::is_same_v<T, float>) return "float32";
  if constexpr (std::is_same_v<T, double>) return "float64";
  if constexpr (std::is_same_v<T, std::int32_t>) return "int32";
  return "int64";
}

[[noreturn]] inline void refuse_type(const std::string& text) { throw nanobind::type_error(text.c_str()); }

[[noreturn]] inline void refuse_elements(const char* name, const char* dtype) {
  refuse_type(std::string(name) + " must be a contiguous vector of " + dtype);
}

/// The elements of a vector of T; a TypeError says what is taken where it is none.
template <class T, class Given>
auto elements_of(const Given& array, const char* name) {
  using Element = std::conditional_t<std::is_same_v<Given, WritableArray>, T, const T>;
  if (array.ndim() != 1 || array.dtype() != nanobind::dtype<T>()) refuse_elements(name, dtype_name<T>());
  return std::span<Element>(static_cast<Element*>(array.data()), array.shape(0));
}

/// A contiguous vector that a matrix is made of, and what its memory belongs to.
class Array {
 public:
  /// What speaks DLPack or the buffer protocol. Throws a TypeError for what is no vector, or lies on no CUDA device.
  explicit Array(const AnyArray& array);
  /// At an address on a CUDA device; `owner` keeps it there. Throws Unsupported in builds without CUDA.
  Array(std::uintptr_t address, std::size_t size, std::string dtype, nanobind::object owner);

  [[nodiscard]] std::uintptr_t address() const { return address_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const std::string& dtype() const { return dtype_; }
  [[nodiscard]] Memory memory() const { return memory_; }

  template <class T>
  [[nodiscard]] bool holds() const {
    return dtype_ == dtype_name<T>();
  }

  /// As elements_of() above.
  template <class T>
  [[nodiscard]] std::span<const T> elements(const char* name) const {
    if (!holds<T>()) refuse_elements(name, dtype_name<T>());
    return {pointer_to<const T>(address_), size_};
  }

 private:
  AnyArray array_;
  nanobind::object owner_;
  std::uintptr_t address_ = 0;
  std::size_t size_ = 0;
  std::string dtype_;
  Memory memory_ = Memory::host;
};

}  // namespace autospmv::python
