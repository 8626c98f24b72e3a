// Where data lives, who multiplies, what a value is.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

namespace autospmv {

enum class Memory : std::uint8_t { host, device };
enum class Backend : std::uint8_t { host, cuda };

/// The memory that a backend's kernels read and write.
constexpr Memory memory_of(Backend backend) { return backend == Backend::host ? Memory::host : Memory::device; }

constexpr std::string_view name_of(Backend backend) { return backend == Backend::host ? "host" : "cuda"; }

/// Where memory lies and work runs: this machine's processor, or one of its CUDA devices.
struct Place {
  Backend backend = Backend::host;
  int ordinal = 0;  ///< CUDA ordinal; 0 on the host

  [[nodiscard]] Memory memory() const { return memory_of(backend); }
  friend bool operator==(Place, Place) = default;
};

template <class T>
concept Scalar = std::same_as<T, float> || std::same_as<T, double>;

}  // namespace autospmv
