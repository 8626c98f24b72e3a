// What formats have in common when they admit, refuse and predict.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"
#include "core/params.hpp"
#include "features/features.hpp"
#include "formats/sizes.hpp"

namespace autospmv::formats {

/// Padding past this multiple of the CSR arrays can only lose: the product moves that many more bytes.
inline constexpr double largest_growth = 3.0;

/// Matrices so small that padding costs nothing worth refusing for.
inline constexpr double small_storage_bytes = 1 << 20;

/// To a tenth of one. By integers, which are written many times as fast: hundreds of candidates are refused.
inline std::string megabytes(double bytes) {
  constexpr double most = 9e18;
  const auto tenths = static_cast<std::int64_t>(std::min(std::max(0.0, bytes / 1e5 + 0.5), most));
  std::string text = std::to_string(tenths / 10);
  text += '.';
  text += static_cast<char>('0' + tenths % 10);
  return text += " MB";
}

/// Refuses storage that grows past largest_growth times the CSR arrays, unless any may, or does not fit the device.
inline std::optional<Refusal> refuse_storage(double bytes, double bytes_of_csr, const Device& device) {
  if (!device.any_padding && bytes > small_storage_bytes && bytes > largest_growth * bytes_of_csr) {
    return Refusal{"padding: " + megabytes(bytes) + ", more than " + std::to_string(static_cast<int>(largest_growth)) +
                   " times the " + megabytes(bytes_of_csr) + " of CSR"};
  }
  if (bytes > static_cast<double>(device.memory_bytes)) {
    return Refusal{"memory: " + megabytes(bytes) + " are more than the device has"};
  }
  return std::nullopt;
}

template <class T>
std::optional<Refusal> refuse_storage(double bytes, const Features& features, const Device& device) {
  return refuse_storage(bytes, csr_bytes<T>(features.rows, features.nnz), device);
}

/// The same against the memory that is free now; called by build just before it allocates.
template <class T>
std::optional<Refusal> refuse_allocation(double bytes, const CsrView<T>& matrix, const Device& device) {
  if (auto refusal = refuse_storage(bytes, csr_bytes<T>(matrix.rows, matrix.nnz), device)) return refusal;
  if (has_free_memory(bytes, device)) return std::nullopt;
  return Refusal{"memory: " + megabytes(bytes) + " are more than is free"};
}

/// A parameter and what it may be.
struct Allowed {
  std::string_view name;  ///< lives somewhere else
  std::vector<std::int64_t> values;
  std::int64_t step = 0;  ///< where it is not 0, `values` are the least and the most, and all between by this step are

  [[nodiscard]] bool holds(std::int64_t value) const {
    if (step == 0) return std::find(values.begin(), values.end(), value) != values.end();
    return value >= values.front() && value <= values.back() && (value - values.front()) % step == 0;
  }

  /// "1, 2 or 4", "0 or more", "32 to 1024 by 32".
  [[nodiscard]] std::string text() const;
};

/// Refuses parameters that are missing, unknown, or take a value that is not allowed, and says what is. Parameters come
/// from a database and from people as well as from a format's own space.
std::optional<Refusal> refuse_params(const Params& params, const std::vector<Allowed>& allowed);

/// How much longer than its share of the matrix a walk of `steps` steps, one after another, keeps the device busy.
inline double longest_walk(const Features& features, double steps, const Device& device) {
  const int threads = device.backend == Backend::cuda ? 256 : 1;  // that take turns at the memory of a multiprocessor
  const double width = static_cast<double>(threads) * std::max(1, device.multiprocessors);
  return std::max(1.0, steps / std::max(32.0, static_cast<double>(features.nnz) / width));
}

/// The power of two next to `value` from above, within [1, most].
inline std::int64_t power_of_two_above(double value, std::int64_t most) {
  std::int64_t power = 1;
  while (static_cast<double>(power) < value && power < most) power *= 2;
  return power;
}

}  // namespace autospmv::formats
