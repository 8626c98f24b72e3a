// One self-contained page: no network, no other file.
#pragma once

#include <string>

#include "tools/output/json.hpp"

namespace autospmv::tools {

/// The texts of page.html, page.css and page.js.
extern const char* const page_template;
extern const char* const page_style;
extern const char* const page_script;

/// The page that shows these facts, whatever texts are in them.
std::string page_of(const Json& facts);

}  // namespace autospmv::tools
