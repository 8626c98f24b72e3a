// Choices drawn from the bytes that a target is given. Where they end, everything is 0 and empty, so that every input
// means something, and a short one little.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace autospmv::fuzzing {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : left_(data, size) {}

  [[nodiscard]] bool empty() const { return left_.empty(); }
  /// What nothing has been drawn from yet.
  [[nodiscard]] std::span<const std::uint8_t> left() const { return left_; }

  std::uint8_t byte() {
    if (left_.empty()) return 0;
    const auto first = left_.front();
    left_ = left_.subspan(1);
    return first;
  }

  std::uint64_t bits(int bytes) {
    std::uint64_t bits = 0;
    for (int i = 0; i < bytes; ++i) bits = bits << 8 | byte();
    return bits;
  }

  /// In [0, size), for sizes up to 2^16.
  std::size_t below(std::size_t size) { return static_cast<std::size_t>(bits(size > 256 ? 2 : 1)) % size; }
  bool one_in(std::size_t size) { return below(size) == size - 1; }

  template <class Choices>
  const auto& pick(const Choices& choices) {
    return choices[below(std::size(choices))];
  }

  /// Small ones mostly, and those at the ends of ranges.
  std::int64_t integer() {
    static constexpr std::array<std::int64_t, 16> ends = {-1,
                                                          1 << 16,
                                                          (1LL << 31) - 1,
                                                          1LL << 31,
                                                          (1LL << 32) - 1,
                                                          1LL << 32,
                                                          1LL << 53,
                                                          (1LL << 53) + 1,
                                                          -1 << 16,
                                                          -1LL << 31,
                                                          (1LL << 62) + 12345,
                                                          1LL << 62,
                                                          1'000'000,
                                                          -1LL << 53,
                                                          std::numeric_limits<std::int64_t>::max(),
                                                          std::numeric_limits<std::int64_t>::min()};
    switch (below(4)) {
      case 0:
        return byte();
      case 1:
        return pick(ends);
      case 2:
        return static_cast<std::int16_t>(bits(2));
      default:
        return static_cast<std::int64_t>(bits(8));
    }
  }

  double real() {
    static constexpr std::array<double, 16> ends = {0,
                                                    -0.0,
                                                    1,
                                                    -1,
                                                    0.5,
                                                    1e-6,
                                                    1e-300,
                                                    5e-324,
                                                    1e300,
                                                    1e308,
                                                    -1e308,
                                                    1e18,
                                                    0x1p53,
                                                    1e6,
                                                    std::numeric_limits<double>::infinity(),
                                                    std::numeric_limits<double>::quiet_NaN()};
    switch (below(4)) {
      case 0:
        return pick(ends);
      case 1:
        return static_cast<double>(integer());
      case 2:
        return static_cast<double>(bits(2)) / 256;
      default:
        return std::bit_cast<double>(bits(8));
    }
  }

  /// Of any bytes but 0.
  std::string text() {
    std::string text;
    for (std::size_t size = below(32); size > 0; --size) {
      if (const auto c = byte()) text += static_cast<char>(c);
    }
    return text;
  }

 private:
  std::span<const std::uint8_t> left_;
};

}  // namespace autospmv::fuzzing
