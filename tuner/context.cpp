#include "tuner/context.hpp"

#include <array>
#include <atomic>
#include <utility>

#include <spdlog/spdlog.h>

#include "tuner/meter.hpp"

namespace autospmv {

namespace {

constexpr std::array effort_names = {
    std::pair{Effort::cached, std::string_view{"cached"}},
    std::pair{Effort::measure, std::string_view{"measure"}},
    std::pair{Effort::exhaustive, std::string_view{"exhaustive"}},
};

Device chosen_device(const ContextOptions& options, spdlog::logger& logger) {
  if (options.device) return *options.device;
  auto device = default_device();
  if (built_with_cuda && device.backend == Backend::host) {
    logger.warn("no CUDA device was found: products run on the host");
  }
  return device;
}

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::shared_ptr<Database> chosen_database(const ContextOptions& options, spdlog::logger& logger) {
  const auto file = options.database ? *options.database : Database::default_path();
  if (file.empty()) return Database::in_memory();
  return Database::open(file, [&logger](const std::string& message) { logger.warn("{}", message); });
}

}  // namespace

std::string_view name_of(Effort effort) {
  for (const auto& [value, name] : effort_names) {
    if (value == effort) return name;
  }
  return "unknown";
}

std::optional<Effort> parse_effort(std::string_view name) {
  for (const auto& [value, known] : effort_names) {
    if (known == name) return value;
  }
  return std::nullopt;
}

Context::Context(const ContextOptions& options)
    : id_(next_id()),
      effort_(options.effort),
      limits_(options.limits),
      logger_(options.logger ? options.logger : spdlog::default_logger()) {
  device_ = chosen_device(options, *logger_);
  database_ = chosen_database(options, *logger_);
}

double Context::copy_bandwidth() const {
  std::call_once(copy_measured_, [this] { copy_bandwidth_ = measure_copy_bandwidth(device_); });
  return copy_bandwidth_;
}

Context& Context::instance() {
  static Context context;
  return context;
}

}  // namespace autospmv
