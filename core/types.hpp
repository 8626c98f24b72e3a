// Names of the few things everything else speaks of: where data lives, who multiplies, what a value is.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

namespace autospmv {

/// The toolkit was found at build time and the CUDA backend is part of this library.
#ifdef AUTOSPMV_CUDA
inline constexpr bool built_with_cuda = true;
#else
inline constexpr bool built_with_cuda = false;
#endif

enum class Memory : std::uint8_t { host, device };
enum class Backend : std::uint8_t { host, cuda };

/// The memory that a backend's kernels read and write.
constexpr Memory memory_of(Backend backend) { return backend == Backend::host ? Memory::host : Memory::device; }

constexpr std::string_view name_of(Backend backend) { return backend == Backend::host ? "host" : "cuda"; }

template <class T>
concept Scalar = std::same_as<T, float> || std::same_as<T, double>;

template <Scalar T>
constexpr std::string_view value_type_name() {
  return std::same_as<T, float> ? "float" : "double";
}

}  // namespace autospmv
