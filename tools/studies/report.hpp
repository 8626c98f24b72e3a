// A study as text on standard output, and as JSON: one value a matrix and one for all of them.
#pragma once

#include "tools/output/json.hpp"
#include "tools/studies/study.hpp"

namespace autospmv::tools {

void print_studied(const Study& study, const StudiedMatrix& studied);
void print_summary(const Study& study, Matrices matrices);
Json studied_json(const Study& study, const StudiedMatrix& studied);
Json summary_json(const Study& study, Matrices matrices);

/// The matrices of its paper, and what stands in for each.
void print_matrices(const Study& study, bool markdown);
Json matrices_json(const Study& study);

}  // namespace autospmv::tools
