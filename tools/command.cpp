#include "tools/command.hpp"

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <ostream>

#include "io/generators.hpp"

namespace autospmv::tools {

namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

void print_matrices(std::ostream& out) {
  out << '\n' << matrix_sources << '\n';
  for (const auto& kind : generator_table()) {
    constexpr int width = 40;
    out << "  " << std::left << std::setw(width) << kind.usage;
    if (kind.usage.size() >= width) out << '\n' << std::setw(width + 2) << "";
    out << kind.meaning << '\n';
  }
}

}  // namespace

std::span<const Command> all_commands() {
  using enum OptionGroup;
  static const std::vector<Command> commands = {
      {"tune",
       "MATRIX...",
       "find the fastest format for each matrix and remember it",
       1,
       unlimited,
       {value_type, values, backend, database, effort, operation, limits, only},
       run_tune},
      {"train",
       "",
       "try every candidate on matrices that span what there is, so that others can be predicted",
       0,
       0,
       {value_type, backend, database, limits},
       run_train},
      {"bench",
       "[MATRIX...]",
       "measure every candidate on each matrix, or make a paper's comparison",
       0,
       unlimited,
       {value_type, values, backend, database, formats},
       run_bench},
      {"explain",
       "MATRIX...",
       "say what is chosen for a matrix, and why",
       1,
       unlimited,
       {value_type, values, backend, database, effort, operation, limits},
       run_explain},
      {"features",
       "MATRIX...",
       "print what is known of a matrix before any trial",
       1,
       unlimited,
       {value_type, values, backend},
       run_features},
      {"formats", "", "list the formats of this build", 0, 0, {}, run_formats},
      {"devices", "", "list the devices of this machine", 0, 0, {}, run_devices},
      {"generate",
       "gen:KIND:ARGS",
       "write a generated matrix as a Matrix Market file",
       1,
       1,
       {value_type, values, output},
       run_generate},
      {"db",
       "list | show MATRIX | stats | check | export | import FILE | merge FILE... | diff OLD NEW | fit | forget | "
       "vacuum",
       "look into the database of trials, exchange what it holds, fit the cost model to it, or remove from it",
       1,
       unlimited,
       {backend, database, limits, selection, output},
       run_db},
      {"report",
       "[DATABASE]",
       "write a page about what a database holds, to be looked at in a browser",
       0,
       1,
       {backend, database, limits, selection, output},
       run_report},
  };
  return commands;
}

const Command* find_command(std::string_view name) {
  const auto commands = all_commands();
  const auto at = std::find_if(commands.begin(), commands.end(), [&](const auto& c) { return c.name == name; });
  return at == commands.end() ? nullptr : &*at;
}

void print_help(std::ostream& out) {
  out << "Usage: autospmv SUBCOMMAND [ARGUMENTS] [OPTIONS]\n\n"
         "Sparse matrix-vector products that tune themselves.\n\nSubcommands:\n";
  for (const auto& command : all_commands()) {
    out << "  " << std::left << std::setw(10) << command.name << command.summary << '\n';
  }
  print_matrices(out);
  out << "\nautospmv SUBCOMMAND --help explains the options of one; autospmv --version prints the version.\n"
         "Exit status: "
      << exit_statuses << '\n';
}

void print_help(std::ostream& out, const Command& command) {
  out << "Usage: autospmv " << command.name << (command.arguments.empty() ? "" : " ") << command.arguments
      << " [OPTIONS]\n\n"
      << command.summary << '\n';
  if (command.most_arguments > 0) print_matrices(out);
  out << '\n';
  print_options(out, command.groups);
}

}  // namespace autospmv::tools
