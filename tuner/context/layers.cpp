#include "tuner/context/layers.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

namespace autospmv {

namespace fs = std::filesystem;

namespace {

using Paths = std::vector<fs::path>;

// Nothing where the variable is not set.
std::optional<Paths> paths_in_environment() {
  const char* const value = std::getenv("AUTOSPMV_SYSTEM_DB");
  if (value == nullptr) return std::nullopt;
  Paths paths;
  std::istringstream list(value);
  for (std::string path; std::getline(list, path, ':');) {
    if (!path.empty()) paths.emplace_back(path);
  }
  return paths;
}

// Whatever this code was linked into: the library, or a program.
fs::path own_directory() {
  Dl_info info{};
  const auto* const here = reinterpret_cast<const void*>(&installed_knowledge);
  if (dladdr(here, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code failed;
  const auto file = fs::weakly_canonical(info.dli_fname, failed);
  return failed ? fs::path() : file.parent_path();
}

}  // namespace

fs::path installed_knowledge() {
  // An installation may be moved as a whole; what is left of one stays where it was built for.
  const auto here = own_directory();
  const std::array places = {here / AUTOSPMV_DATA_FROM_LIBRARY,
                             here / "../share/autospmv",           // of a program, and of pip install --target
                             here / "../../../../share/autospmv",  // of lib/python3.11/site-packages/autospmv
                             fs::path(AUTOSPMV_DATA_DIRECTORY)};
  for (const auto& directory : places) {
    std::error_code missing;
    const auto file = directory / "starter.db";
    if (directory.is_absolute() && fs::is_regular_file(file, missing)) return file.lexically_normal();
  }
  return {};
}

std::vector<std::shared_ptr<Database>> layers_of(const ContextOptions& options, const Database::Warn& warn) {
  auto given = options.system_databases ? options.system_databases : paths_in_environment();
  if (given && given->empty()) return {};
  auto paths = std::move(given).value_or(Paths{});
  if (auto installed = installed_knowledge(); !installed.empty()) paths.push_back(std::move(installed));
  std::vector<std::shared_ptr<Database>> layers;
  for (const auto& path : paths) {
    if (auto layer = Database::layer(path, warn)) layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace autospmv
