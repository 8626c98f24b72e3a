// autospmv report: what a database holds, as a page to look at.

#include "core/error.hpp"
#include "tools/command.hpp"
#include "tools/database/actions.hpp"
#include "tools/output/json.hpp"
#include "tools/page/facts.hpp"
#include "tools/page/page.hpp"

namespace autospmv::tools {

namespace {

std::string command_of(const Options& options, const std::filesystem::path& file) {
  std::string text = "autospmv report " + shell_quoted(file.string()) + " -o " + shell_quoted(options.output);
  const auto& chosen = options.selection;
  for (const auto& matrix : chosen.matrices) text += " --matrix " + shell_quoted(matrix);
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) text += std::string(" ") + option + " " + shell_quoted(value);
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
  facts["trials"] = statistics.trials;
  facts["first"] = statistics.first;
  facts["last"] = statistics.last;
  const auto page = page_of(report_page, facts, command_of(options, file));
  write_page(page, options.output);
  if (options.json && options.output != "-") {
    print_json({{"file", options.output}, {"bytes", page.size()}, {"matrices", facts["matrices"].size()}});
  }
  return 0;
}

}  // namespace autospmv::tools
