#include "tests/tuner/support.hpp"

namespace autospmv::testing {

ContextOptions host_options(const std::filesystem::path& database) {
  ContextOptions options;
  options.device = Place{};
  options.database = database.empty() ? DatabaseChoice::memory() : DatabaseChoice::file(database);
  options.effort = Effort::measure;
  options.recheck_share = 0;  // what comes out must not depend on how fast a product runs
  options.logger = [](LogLevel /*level*/, std::string_view /*message*/) {};
  return options;
}

}  // namespace autospmv::testing
