#include "autospmv/context.hpp"

#include <array>
#include <mutex>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "tuner/context/service.hpp"

namespace autospmv {

namespace {

constexpr std::array effort_names = {
    std::pair{Effort::cached, std::string_view{"cached"}},
    std::pair{Effort::estimate, std::string_view{"estimate"}},
    std::pair{Effort::measure, std::string_view{"measure"}},
    std::pair{Effort::exhaustive, std::string_view{"exhaustive"}},
    std::pair{Effort::online, std::string_view{"online"}},
};

// What the context that nobody names is made with, until it is.
struct InstanceOptions {
  std::mutex mutex;
  std::optional<ContextOptions> options = ContextOptions{};

  static InstanceOptions& get() {
    static InstanceOptions one;
    return one;
  }

  ContextOptions take() {
    const std::scoped_lock lock(mutex);
    // Left in place where the context cannot be made: the next call tries again.
    return options.value_or(ContextOptions{});
  }
};

Context make_instance() {
  auto& chosen = InstanceOptions::get();
  Context context(chosen.take());
  const std::scoped_lock lock(chosen.mutex);
  chosen.options.reset();
  return context;
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

Context::Context(const ContextOptions& options) : state_(std::make_shared<detail::ContextState>(options)) {}

const Context& Context::instance() {
  static const Context context = make_instance();
  return context;
}

void Context::set_instance_options(const ContextOptions& options) {
  auto& chosen = InstanceOptions::get();
  const std::scoped_lock lock(chosen.mutex);
  if (!chosen.options)
    throw InvalidArgument("the options of the context that nobody names were set after its first use");
  chosen.options = options;
}

Place Context::device() const { return state_->service->device(); }

const std::string& Context::device_name() const { return state_->service->device().name; }

Effort Context::effort() const { return state_->service->effort(); }

const Limits& Context::limits() const { return state_->service->limits(); }

}  // namespace autospmv
