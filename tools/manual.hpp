// What the program tells other programs of itself: a manual page and a shell's completion, from what --help prints.
#pragma once

#include <iosfwd>

namespace autospmv::tools {

/// Of section 1, as man reads it.
void print_manual(std::ostream& out);

/// Of bash, for its folder of completions.
void print_completion(std::ostream& out);

}  // namespace autospmv::tools
