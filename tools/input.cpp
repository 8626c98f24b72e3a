#include "tools/input.hpp"

#include <system_error>

#include "io/generators.hpp"

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

// Who makes no trials only looks.
bool only_looks(Effort effort) { return effort == Effort::cached || effort == Effort::estimate; }

DatabaseChoice database_choice(const Options& options) {
  const auto file = options.database.value_or(std::filesystem::path{});
  if (options.database && file.empty()) return DatabaseChoice::memory();
  if (only_looks(options.effort)) return DatabaseChoice::snapshot(file);
  return options.database ? DatabaseChoice::file(file) : DatabaseChoice();
}

}  // namespace

ContextOptions context_options(const Options& options) {
  const auto device = requested_device(options);
  return {.device = device ? std::optional<Place>(*device) : std::nullopt,
          .database = database_choice(options),
          .system_databases = options.system_databases,
          .effort = options.effort,
          .limits = options.limits,
          .logger = make_logger(options.quiet)};
}

MatrixName name_of_source(const std::string& source) {
  std::error_code unknown;
  const bool is_file = !is_generator(source) && std::filesystem::exists(source, unknown);
  return {label_of(source), is_file ? std::filesystem::absolute(source).lexically_normal().string() : source};
}

}  // namespace autospmv::tools
