#include "tools/page/page.hpp"

#include <cerrno>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "autospmv/version.h"
#include "core/error.hpp"

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

std::string now() {
  const std::time_t time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::ostringstream text;
  text << std::put_time(&parts, "%Y-%m-%d %H:%M UTC");
  return text.str();
}

}  // namespace

std::string page_of(const PageKind& kind, Json facts, const std::string& command) {
  facts["moment"] = now() + ", autospmv " AUTOSPMV_VERSION;
  facts["command"] = command;
  std::string page = kind.text;
  // What comes from outside goes in last: nothing in it is taken for a mark.
  replace(page, "{{style}}", page_style);
  replace(page, "{{script}}", std::string(page_base) + kind.script);
  replace(page, "{{facts}}", embedded(facts));
  return page;
}

void write_page(const std::string& page, const std::string& file) {
  if (file == "-") {
    std::cout << page;
    return;
  }
  std::ofstream out(file, std::ios::binary);
  if (!out) throw Error(file + ": cannot be written: " + std::generic_category().message(errno));
  out << page;
  if (!out.flush()) throw Error(file + ": cannot be written: the device is full");
}

std::string shell_quoted(const std::string& word) {
  if (!word.empty() &&
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:") ==
          std::string::npos) {
    return word;
  }
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace autospmv::tools
