#include "core/printable.hpp"

#include <algorithm>
#include <cstddef>

namespace autospmv {

namespace {

// How many bytes the character takes that begins here; 0 where none does, or where it controls a terminal.
std::size_t harmless_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto lead = at(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const std::size_t size = lead >= 0xc2 && lead < 0xe0   ? 2
                           : lead >= 0xe0 && lead < 0xf0 ? 3
                           : lead >= 0xf0 && lead < 0xf5 ? 4
                                                         : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xc0U) != 0x80) return 0;
  }
  return lead == 0xc2 && at(1) < 0xa0 ? 0 : size;  // U+0080 to U+009F are controls too
}

}  // namespace

std::string printable(std::string_view text) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto harmless = harmless_bytes(text);
    if (harmless > 0) {
      shown += text.substr(0, harmless);
    } else {
      const auto byte = static_cast<unsigned char>(text.front());
      shown += "\\x";
      shown += digits[byte >> 4U];
      shown += digits[byte & 0xfU];
    }
    text.remove_prefix(std::max<std::size_t>(harmless, 1));
  }
  return shown;
}

}  // namespace autospmv
