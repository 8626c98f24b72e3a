// From the words of a command line to a struct.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "core/trial.hpp"
#include "io/load.hpp"
#include "tuner/service.hpp"

namespace autospmv::tools {

/// db forget: what.
struct ForgetOptions {
  std::vector<std::string> matrices;  ///< fingerprints or labels
  std::string device;
  bool suspects = false;
  bool all = false;
  bool yes = false;

  friend bool operator==(const ForgetOptions&, const ForgetOptions&) = default;
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
  Effort effort = Effort::measure;
  Limits limits;
  std::vector<std::string> formats;  ///< bench: those to measure; all where empty
  std::optional<std::string> study;  ///< bench: the paper's comparison to make
  bool rivals = false;               ///< bench: ours against other libraries
  bool markdown = false;             ///< bench: the tables of rivals in Markdown
  std::string output;                ///< generate
  ForgetOptions forget;
};

/// Options that some subcommands take and others do not.
enum class OptionGroup : std::uint8_t {
  value_type,
  values,
  backend,
  database,
  limits,
  effort,
  formats,
  output,
  forget
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
