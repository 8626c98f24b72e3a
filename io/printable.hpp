// Text of unknown origin, fit for an error.
#pragma once

#include <string>
#include <string_view>

namespace autospmv {

/// On one line, whatever it holds: all but printable ASCII becomes a question mark.
inline std::string printable(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (c < ' ' || c > '~') c = '?';
  }
  return line;
}

}  // namespace autospmv
