// Makes the database that is installed with the library, of the recordings in this folder:
//     autospmv_starter OUTPUT RECORDING...
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "db/database.hpp"
#include "io/recording.hpp"
#include "tools/database/actions.hpp"

namespace {

using namespace autospmv;
namespace fs = std::filesystem;

void fill(const fs::path& file, const std::vector<std::string>& recordings) {
  const auto database =
      Database::open(file, [](const std::string& warning) { std::fprintf(stderr, "%s\n", warning.c_str()); });
  if (database->file().empty()) throw Error(file.string() + " cannot be written");
  for (const auto& recording : recordings) {
    for (const auto& one : read_recording(recording)) database->record(one.key, one.matrix, one.trials);
  }
  tools::prepare(*database);
  database->vacuum();
}

// Under another name first: what lies there may be in use, and a half is worse than nothing.
void make(const fs::path& output, const std::vector<std::string>& recordings) {
  auto unfinished = output;
  unfinished += ".new";
  fs::create_directories(fs::absolute(output).parent_path());
  fs::remove(unfinished);
  fill(unfinished, recordings);
  fs::rename(unfinished, output);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() < 2) {
      std::fprintf(stderr, "usage: autospmv_starter OUTPUT RECORDING...\n");
      return 2;
    }
    make(arguments.front(), {arguments.begin() + 1, arguments.end()});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "autospmv_starter: %s\n", error.what());
    return 1;
  }
}
