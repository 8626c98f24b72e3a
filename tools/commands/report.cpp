// autospmv report: what a database holds, as a page to look at.

#include <cerrno>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <system_error>

#include "autospmv/version.h"
#include "core/error.hpp"
#include "tools/command.hpp"
#include "tools/database/actions.hpp"
#include "tools/output/json.hpp"
#include "tools/page/facts.hpp"
#include "tools/page/page.hpp"

namespace autospmv::tools {

namespace {

std::string now() {
  const std::time_t time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::ostringstream text;
  text << std::put_time(&parts, "%Y-%m-%d %H:%M UTC");
  return text.str();
}

// As a shell takes it.
std::string quoted(const std::string& word) {
  if (!word.empty() &&
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:") ==
          std::string::npos) {
    return word;
  }
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string command_of(const Options& options, const std::filesystem::path& file) {
  std::string text = "autospmv report " + quoted(file.string()) + " -o " + quoted(options.output);
  const auto& chosen = options.selection;
  for (const auto& matrix : chosen.matrices) text += " --matrix " + quoted(matrix);
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) text += std::string(" ") + option + " " + quoted(value);
  };
  add("--backend", options.backend ? std::string(name_of(*options.backend)) : std::string());
  add("--device", chosen.device);
  add("--value-type", chosen.value_type);
  if (options.limits.expected_calls != Limits{}.expected_calls) {
    add("--expected-calls", std::to_string(options.limits.expected_calls));
  }
  return text;
}

void check(const SelectionOptions& chosen) {
  if (chosen.suspects || chosen.all || chosen.yes || !chosen.format.empty() || !chosen.since.empty() ||
      !chosen.before.empty()) {
    throw InvalidArgument("a report is of matrices: --matrix, --device, --backend and --value-type choose them");
  }
}

}  // namespace

int run_report(const Options& options) {
  check(options.selection);
  if (options.database && !options.arguments.empty()) throw InvalidArgument("the database is named twice");
  const auto file = options.arguments.empty() ? place_of(options) : std::filesystem::path(options.arguments.front());
  if (!std::filesystem::exists(file)) throw Error("nothing is reported: there is no database " + file.string());
  const auto database = Database::look(file);
  auto facts = facts_of(*database, options);
  if (facts["matrices"].empty())
    throw Error("nothing is reported: " + file.string() + " has no trials of such matrices");
  const auto statistics = database->statistics();
  facts["database"] = std::filesystem::absolute(file).lexically_normal().string();
  facts["moment"] = now() + ", autospmv " AUTOSPMV_VERSION;
  facts["command"] = command_of(options, file);
  facts["trials"] = statistics.trials;
  facts["first"] = statistics.first;
  facts["last"] = statistics.last;
  const auto page = page_of(facts);
  if (options.output == "-") {
    std::cout << page;
    return 0;
  }
  std::ofstream out(options.output, std::ios::binary);
  if (!out) throw Error(options.output + ": cannot be written: " + std::generic_category().message(errno));
  out << page;
  if (!out.flush()) throw Error(options.output + ": cannot be written: the device is full");
  if (options.json) {
    print_json({{"file", options.output}, {"bytes", page.size()}, {"matrices", facts["matrices"].size()}});
  }
  return 0;
}

}  // namespace autospmv::tools
