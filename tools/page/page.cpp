#include "tools/page/page.hpp"

#include <string_view>

namespace autospmv::tools {

namespace {

void replace(std::string& text, std::string_view mark, std::string_view with) {
  if (const auto at = text.find(mark); at != std::string::npos) text.replace(at, mark.size(), with);
}

// As a browser may get it inside of a script: none of it can end that, or begin anything else.
std::string embedded(const Json& facts) {
  std::string text;
  for (const char c : facts.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else if (c == '>') {
      text += "\\u003e";
    } else if (c == '&') {
      text += "\\u0026";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string page_of(const Json& facts) {
  std::string page = page_template;
  // What comes from a database goes in last: nothing in it is taken for a mark.
  replace(page, "{{style}}", page_style);
  replace(page, "{{script}}", page_script);
  replace(page, "{{facts}}", embedded(facts));
  return page;
}

}  // namespace autospmv::tools
