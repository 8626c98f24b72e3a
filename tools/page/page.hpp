// Self-contained pages: no network, no other file.
#pragma once

#include <string>

#include "tools/output/json.hpp"

namespace autospmv::tools {

/// What a kind of page has of its own.
struct PageKind {
  const char* text;
  const char* script;
};

extern const PageKind report_page;  ///< report.html, report.js
extern const PageKind study_page;   ///< study.html, study.js

/// What all of them share: page.css, base.js.
extern const char* const page_style;
extern const char* const page_base;

/// The page that shows these facts, whatever texts are in them. To them are added the moment and the command that makes
/// the page again.
std::string page_of(const PageKind& kind, Json facts, const std::string& command);

/// Into a file, or to standard output for "-". Throws Error.
void write_page(const std::string& page, const std::string& file);

/// As a shell takes it.
std::string shell_quoted(const std::string& word);

}  // namespace autospmv::tools
