// The subcommands of the program.
#pragma once

#include <iosfwd>
#include <span>
#include <string_view>
#include <vector>

#include "tools/options.hpp"

namespace autospmv::tools {

struct Command {
  std::string_view name;
  std::string_view arguments;  ///< as its usage line shows them
  std::string_view summary;
  std::size_t least_arguments = 0;
  std::size_t most_arguments = 0;
  std::vector<OptionGroup> groups;
  int (*run)(const Options&) = nullptr;  ///< gives the program's exit status
};

int run_tune(const Options& options);
int run_train(const Options& options);
int run_bench(const Options& options);
int run_explain(const Options& options);
int run_features(const Options& options);
int run_formats(const Options& options);
int run_devices(const Options& options);
int run_generate(const Options& options);
int run_db(const Options& options);
int run_report(const Options& options);

std::span<const Command> all_commands();

/// Comes before the generators.
inline constexpr std::string_view matrix_sources =
    "MATRIX is a Matrix Market file (plain, compressed, or in a tar archive), a directory of such files,\n"
    "- for standard input, or one of:";

inline constexpr std::string_view exit_statuses =
    "0, 1 where something failed, 2 where the command line is wrong, 128 and its number after a signal.";

/// The command of that name, or nullptr.
const Command* find_command(std::string_view name);

/// Of the program, and of one of its subcommands.
void print_help(std::ostream& out);
void print_help(std::ostream& out, const Command& command);

}  // namespace autospmv::tools
