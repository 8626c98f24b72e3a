#include "io/matrix_market/line.hpp"

#include <algorithm>

#include "core/printable.hpp"

namespace autospmv::matrix_market {

void fail(const std::string& name, std::int64_t line, const std::string& what) {
  throw Error(name + ':' + std::to_string(line) + ": " + what);
}

std::string quoted(std::string_view word) {
  constexpr std::size_t longest = 40;
  return '\'' + printable(word.substr(0, longest)) + (word.size() > longest ? "...'" : "'");
}

// Tells by the power of ten of the leading digit: it is far below zero or far above.
bool is_tiny(std::string_view number) {
  const auto mantissa_size = std::min(number.find_first_of("eE"), number.size());
  const auto mantissa = number.substr(0, mantissa_size);
  const auto leading = static_cast<std::int64_t>(mantissa.find_first_of("123456789"));
  const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  if (mantissa_size == number.size()) return leading > point;
  auto exponent_digits = number.substr(mantissa_size + 1);
  if (exponent_digits.starts_with('+')) exponent_digits.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto code = std::from_chars(exponent_digits.begin(), exponent_digits.end(), exponent).ec;
  if (code == std::errc::result_out_of_range) return exponent_digits.starts_with('-');
  // An exponent near the end of its own range outweighs any mantissa that fits into memory.
  return exponent / 2 + (point - leading) / 2 < 0;
}

}  // namespace autospmv::matrix_market
