#include "tests/tuner/support.hpp"

#include <memory>

#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>

namespace autospmv::testing {

ContextOptions host_options(const std::filesystem::path& database) {
  ContextOptions options;
  options.device = host_device();
  options.database = database;
  options.logger = std::make_shared<spdlog::logger>("quiet", std::make_shared<spdlog::sinks::null_sink_mt>());
  return options;
}

}  // namespace autospmv::testing
