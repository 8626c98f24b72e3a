// bench --study --html: claims beside what came out, as a page to look at.
#pragma once

#include <string>
#include <vector>

#include "tools/options.hpp"
#include "tools/studies/claims.hpp"

namespace autospmv::tools {

/// Into the file that the options name.
void write_study_page(const Options& options, const std::vector<const Study*>& studies,
                      const std::vector<StudyRun>& runs);

}  // namespace autospmv::tools
