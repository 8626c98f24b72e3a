// autospmv db: what is done to the database of trials.

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.hpp"
#include "tools/command.hpp"
#include "tools/commands/fit.hpp"
#include "tools/database/actions.hpp"

namespace autospmv::tools {

namespace {

constexpr std::size_t any_number = 1000000;

struct Action {
  std::string_view name;
  std::string_view arguments;  ///< as the usage line shows them
  std::size_t least = 0;
  std::size_t most = 0;
  bool selects = true;  ///< takes the options that choose rows
  int (*run)(const Options&) = nullptr;
};

constexpr std::array actions = {Action{"list", "", 0, 0, true, list_matrices},
                                Action{"show", " MATRIX-OR-FINGERPRINT", 1, 1, true, show_matrix},
                                Action{"stats", "", 0, 0, true, print_statistics},
                                Action{"check", "", 0, 0, false, check_database},
                                Action{"export", "", 0, 0, true, export_rows},
                                Action{"import", " FILE", 1, 1, true, import_rows},
                                Action{"merge", " FILE...", 1, any_number, true, merge_databases},
                                Action{"diff", " OLD NEW", 2, 2, true, compare_databases},
                                Action{"fit", "", 0, 0, false, fit},
                                Action{"forget", "", 0, 0, true, forget_rows},
                                Action{"vacuum", "", 0, 0, false, vacuum_database}};

std::string usage() {
  std::string text = "usage:";
  for (const auto& action : actions) {
    text.append(action.name == actions.front().name ? " " : ", ").append("autospmv db ").append(action.name);
    text.append(action.arguments);
  }
  return text;
}

}  // namespace

int run_db(const Options& options) {
  const auto& name = options.arguments.front();
  const auto* const action =
      std::find_if(actions.begin(), actions.end(), [&](const Action& a) { return a.name == name; });
  const auto count = options.arguments.size() - 1;
  if (action == actions.end() || count < action->least || count > action->most) throw InvalidArgument(usage());
  const auto& chosen = options.selection;
  if (action->name != "forget" && (chosen.suspects || chosen.all || chosen.yes)) {
    throw InvalidArgument("--suspects, --all and --yes are for db forget");
  }
  if (!action->selects && chosen != SelectionOptions{}) {
    throw InvalidArgument("db " + name + " is of the whole database: it takes no choice of rows");
  }
  if (action->name != "export" && options.output != "-") throw InvalidArgument("--output is for db export");
  return action->run(options);
}

}  // namespace autospmv::tools
