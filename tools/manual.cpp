#include "tools/manual.hpp"

#include <cctype>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "autospmv/version.h"
#include "io/generators.hpp"
#include "tools/command.hpp"
#include "tools/options.hpp"

namespace autospmv::tools {

namespace {

/// Every option of any subcommand, once.
std::vector<OptionInfo> all_options() {
  std::set<OptionGroup> groups;
  for (const auto& command : all_commands()) groups.insert(command.groups.begin(), command.groups.end());
  return option_infos(std::vector(groups.begin(), groups.end()));
}

/// As text that troff leaves as it is.
std::string plain(std::string_view text) {
  std::string escaped;
  if (!text.empty() && (text.front() == '.' || text.front() == '\'')) escaped = "\\&";
  for (const char c : text) {
    if (c == '-') {
      escaped += "\\-";
    } else if (c == '\\') {
      escaped += "\\e";
    } else if (c == ':') {
      escaped += ":\\:";  // a line may end here
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }

std::string italic(std::string_view text) { return "\\fI" + plain(text) + "\\fR"; }

void print_entry(std::ostream& out, const std::string& term, const std::string& meaning) {
  out << ".TP\n" << term << '\n' << meaning << '\n';
}

void print_subcommands(std::ostream& out) {
  out << ".SH SUBCOMMANDS\n";
  for (const auto& command : all_commands()) {
    auto term = bold(command.name);
    if (!command.arguments.empty()) term += ' ' + italic(command.arguments);
    print_entry(out, term, plain(command.summary) + '.');
    out << "Options:\n";
    std::string_view separator;
    for (const auto& option : option_infos(command.groups)) {
      out << separator << bold(option.name);
      separator = ",\n";
    }
    out << ".\n";
  }
}

void print_options_section(std::ostream& out) {
  out << ".SH OPTIONS\n";
  for (const auto& option : all_options()) {
    auto term = (option.letter.empty() ? "" : bold(option.letter) + ", ") + bold(option.name);
    if (!option.placeholder.empty()) term += ' ' + italic(option.placeholder);
    auto meaning = plain(option.meaning);
    if (!option.otherwise.empty()) meaning += " (default: " + plain(option.otherwise) + ')';
    print_entry(out, term, meaning + '.');
  }
}

/// A list for a shell, in quotes.
template <class Words>
std::string quoted(const Words& words) {
  std::string list;
  for (const auto& word : words) {
    if (!list.empty()) list += ' ';
    list += word;
  }
  return '\'' + list + '\'';
}

/// What the arguments of a subcommand may begin with, where that is fixed: "list | show MATRIX" gives list and show.
std::set<std::string> actions_of(const Command& command) {
  std::set<std::string> actions;
  std::istringstream alternatives{std::string(command.arguments)};
  for (std::string alternative; std::getline(alternatives, alternative, '|');) {
    std::string word;
    std::istringstream(alternative) >> word;
    if (!word.empty() && word.find_first_of(":.") == std::string::npos && std::islower(word.front()) != 0) {
      actions.insert(word);
    }
  }
  return actions;
}

}  // namespace

void print_manual(std::ostream& out) {
  out << ".\\\" Made by the program itself.\n"
         ".TH AUTOSPMV 1 \"\" \"autospmv " AUTOSPMV_VERSION
         "\" \"User Commands\"\n"
         ".ad l\n"
         ".nh\n"
         ".SH NAME\n"
         "autospmv \\- sparse matrix\\-vector products that tune themselves\n"
         ".SH SYNOPSIS\n"
         ".B autospmv\n"
         ".I SUBCOMMAND\n"
         "[\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n"
         ".br\n"
         ".B autospmv \\-\\-version\n"
         ".br\n"
         ".B autospmv\n"
         "[\\fISUBCOMMAND\\fR]\n"
         ".B \\-\\-help\n"
         ".SH DESCRIPTION\n"
         "Finds the storage format by which a sparse matrix multiplies a dense vector fastest on the processor or on "
         "an\n"
         "NVIDIA GPU, and remembers it.\n";
  print_subcommands(out);
  print_options_section(out);
  out << ".SH MATRICES\n" << plain(matrix_sources) << '\n';
  for (const auto& kind : generator_table()) print_entry(out, bold(kind.usage), plain(kind.meaning) + '.');
  out << ".SH ENVIRONMENT\n";
  print_entry(out, bold("AUTOSPMV_DB"), "The file where trials are kept.");
  print_entry(out, bold("XDG_CACHE_HOME"), "The user's cache, else \\fI~/.cache\\fR.");
  print_entry(out, bold("OMP_NUM_THREADS"), "How many threads products on the host take.");
  out << ".SH EXIT STATUS\n" << plain(exit_statuses) << '\n';
}

void print_completion(std::ostream& out) {
  out << "# bash completion of autospmv " AUTOSPMV_VERSION
         ", made by the program itself.\n"
         R"(
_autospmv() {
  local line=${COMP_LINE:0:COMP_POINT} words current option wanted=
  # Not COMP_WORDS, which bash also splits at = and :.
  read -ra words <<<"$line"
  [[ $line != *[[:space:]] ]] || words+=('')
  current=${words[-1]}
  option=${words[-2]}
  if [[ $current == --*=* ]]; then
    option=${current%%=*}
    current=${current#*=}
  fi

  case $option in
)";
  for (const auto& option : all_options()) {
    if (option.placeholder.empty()) continue;
    out << "    " << option.name << (option.letter.empty() ? "" : " | " + option.letter)
        << ") wanted=" << quoted(option.values) << " ;;\n";
  }
  out << "    *)\n"
         "      case ${#words[@]}:${words[1]}:$current in\n"
         "        2:*) wanted='";
  for (const auto& command : all_commands()) out << command.name << ' ';
  out << "--help --version' ;;\n";
  for (const auto& command : all_commands()) {
    std::vector<std::string> names;
    for (const auto& option : option_infos(command.groups)) names.push_back(option.name);
    out << "        *:" << command.name << ":-*) wanted=" << quoted(names) << " ;;\n";
    if (const auto actions = actions_of(command); !actions.empty()) {
      out << "        3:" << command.name << ":*) wanted=" << quoted(actions) << " ;;\n";
    }
  }
  std::vector<std::string> generators;
  for (const auto& kind : generator_table()) {
    generators.emplace_back(kind.usage.substr(0, kind.usage.find(':', kind.usage.find(':') + 1) + 1));
  }
  out << "        *:gen*) wanted=" << quoted(generators) << " ;;\n"
      << R"(      esac
      ;;
  esac

  # Where nothing is found, bash completes the names of files.
  mapfile -t COMPREPLY < <(compgen -W "$wanted" -- "$current")
  [[ ${COMPREPLY[0]-} != *: ]] || compopt -o nospace
  # It replaces what comes after the last colon only.
  COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*:}"}"}")
}
complete -o default -F _autospmv autospmv
)";
}

}  // namespace autospmv::tools
