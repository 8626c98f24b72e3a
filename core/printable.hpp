// Text of any origin, fit to be shown.
#pragma once

#include <string>
#include <string_view>

namespace autospmv {

/// The text as a terminal may get it, on one line: control characters and bytes that are no UTF-8 stand as "\x1b". What
/// names a matrix, a device or a reason may come from a file that anybody has written.
std::string printable(std::string_view text);

}  // namespace autospmv
