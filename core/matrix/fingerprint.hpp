// 128 bits that name the pattern of a matrix: its dimensions, row offsets and columns in their order. Values are not
// part of it. Host and device give the same fingerprint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"

namespace autospmv {

struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// 32 hexadecimal digits.
  [[nodiscard]] std::string text() const;
  static std::optional<Fingerprint> parse(std::string_view text);

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
};

/// Reads the pattern once, at memory speed. The view lies in the memory of `place`.
template <class T>
Fingerprint fingerprint_of(const CsrView<T>& matrix, Place place);

}  // namespace autospmv
