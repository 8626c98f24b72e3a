#include "tools/input.hpp"

namespace autospmv::tools {

std::optional<Device> requested_device(const Options& options) {
  if (!options.backend) return std::nullopt;
  if (*options.backend == Backend::host) return host_device();
  if (!built_with_cuda) throw Error("this program was built without CUDA");
  const auto devices = cuda_devices();
  if (devices.empty()) throw Error("no CUDA device was found");
  return devices.front();
}

namespace {

DatabaseChoice database_choice(const Options& options) {
  if (!options.database) return {};
  return options.database->empty() ? DatabaseChoice::memory() : DatabaseChoice::file(*options.database);
}

}  // namespace

ContextOptions context_options(const Options& options) {
  const auto device = requested_device(options);
  return {.device = device ? std::optional<Place>(*device) : std::nullopt,
          .database = database_choice(options),
          .effort = options.effort,
          .limits = options.limits,
          .logger = make_logger(options.quiet)};
}

}  // namespace autospmv::tools
