// From the words of a command line to a struct.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/machine/device.hpp"
#include "core/trial.hpp"
#include "io/load.hpp"
#include "tuner/context/service.hpp"
#include "tuner/search/format_choice.hpp"

namespace autospmv::tools {

/// db: of what; any where a text is empty. Which backend is Options::backend.
struct SelectionOptions {
  std::vector<std::string> matrices;  ///< fingerprints or labels
  std::string device;
  std::string value_type;
  std::string format;
  std::string since;  ///< moments in UTC, as in Selection
  std::string before;
  bool suspects = false;
  bool all = false;
  bool yes = false;

  friend bool operator==(const SelectionOptions&, const SelectionOptions&) = default;
};

/// What the words after the subcommand asked for.
struct Options {
  std::vector<std::string> arguments;  ///< those without a dash: matrices, for most subcommands
  bool help = false;
  bool json = false;
  bool quiet = false;
  std::string value_type;
  Values values;
  std::optional<Backend> backend;                 ///< none: CUDA where there is a device, else the host
  std::optional<std::filesystem::path> database;  ///< none: Database::default_path()
  std::optional<std::vector<std::filesystem::path>> system_databases;  ///< as in ContextOptions
  Effort effort = Effort::measure;
  Operation op = Operation::plain;
  Limits limits;
  std::vector<FormatChoice> only;        ///< bench, tune: the candidates; all where empty
  std::optional<std::string> study;      ///< bench: the paper's comparison to make, or "all"
  bool list_matrices = false;            ///< bench: those of the study's paper
  std::optional<std::int64_t> most_nnz;  ///< bench: of the study's own matrices
  bool claims = false;                   ///< bench: only the table of what the papers claim
  std::vector<std::string> claims_from;  ///< bench: that table from these files
  std::string html;                      ///< bench: the page of a study; empty: none
  bool rivals = false;                   ///< bench: ours against other libraries
  bool markdown = false;                 ///< bench: the tables in Markdown
  std::string output;                    ///< generate
  SelectionOptions selection;
};

/// Options that some subcommands take and others do not.
enum class OptionGroup : std::uint8_t {
  value_type,
  values,
  backend,
  database,
  limits,
  effort,
  operation,
  formats,
  only,
  output,
  selection
};

/// Throws InvalidArgument for unknown options and for values that an option cannot have.
Options parse_options(const std::vector<std::string>& words, std::span<const OptionGroup> groups);

/// The lines that explain the options.
void print_options(std::ostream& out, std::span<const OptionGroup> groups);

/// What these lines say of one.
struct OptionInfo {
  std::string name;         ///< "--effort"
  std::string letter;       ///< "-o", or empty
  std::string placeholder;  ///< "FILE"; empty: it takes no value
  std::string otherwise;    ///< its default, where it has one
  std::string meaning;
  std::vector<std::string> values;  ///< all that it takes, or how they begin; none where they cannot be listed
};

/// Those of the groups, and those that every subcommand takes.
std::vector<OptionInfo> option_infos(std::span<const OptionGroup> groups);

}  // namespace autospmv::tools
