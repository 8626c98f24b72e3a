// The autospmv program.

#include <cstdio>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "autospmv/version.h"
#include "core/error.hpp"
#include "tools/command.hpp"
#include "tools/interrupts.hpp"
#include "tools/manual.hpp"
#include "tools/output/report.hpp"

namespace autospmv::tools {

namespace {

constexpr int failure = 1;
constexpr int misuse = 2;

int run_command(const Command& command, const std::vector<std::string>& words) {
  const auto options = parse_options(words, command.groups);
  if (options.help) {
    print_help(std::cout, command);
    return 0;
  }
  const auto count = options.arguments.size();
  if (count < command.least_arguments || count > command.most_arguments) {
    throw InvalidArgument("usage: autospmv " + std::string(command.name) +
                          (command.arguments.empty() ? "" : " " + std::string(command.arguments)) +
                          " [OPTIONS]; see autospmv " + std::string(command.name) + " --help");
  }
  return command.run(options);
}

int dispatch(std::vector<std::string> words) {
  if (words.empty()) throw InvalidArgument("no subcommand; see autospmv --help");
  const auto name = words.front();
  words.erase(words.begin());
  if (name == "--help" || name == "-h") {
    print_help(std::cout);
    return 0;
  }
  if (name == "--version") {
    std::cout << "autospmv " AUTOSPMV_VERSION << (built_with_cuda ? " (host, cuda)" : " (host)") << '\n';
    return 0;
  }
  // For the build, which installs them.
  if (name == "--manual") {
    print_manual(std::cout);
    return 0;
  }
  if (name == "--bash-completion") {
    print_completion(std::cout);
    return 0;
  }
  const auto* command = find_command(name);
  if (command == nullptr) throw InvalidArgument("no subcommand '" + name + "'; see autospmv --help");
  return run_command(*command, words);
}

int run(const std::vector<std::string>& words) {
  try {
    const int status = dispatch(words);
    if (!std::cout.flush()) throw Error("standard output cannot be written");
    return status;
  } catch (const Interrupted&) {
    complain("interrupted");
    return interrupted_status();
  } catch (const InvalidArgument& error) {
    complain(text_of(error));
    return misuse;
  } catch (const std::exception& error) {
    complain(text_of(error));
    return failure;
  }
}

}  // namespace

}  // namespace autospmv::tools

int main(int argc, char** argv) {
  autospmv::tools::take_signals();
  try {
    return autospmv::tools::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::bad_alloc&) {
    // There was none even for the line that says so.
    static_cast<void>(std::fputs("autospmv: out of memory\n", stderr));
    return autospmv::tools::failure;
  }
}
