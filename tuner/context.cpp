#include "tuner/context.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <utility>

#include <spdlog/spdlog.h>

#include "core/error.hpp"
#include "formats/format.hpp"
#include "tuner/meter.hpp"

namespace autospmv {

namespace {

constexpr std::array effort_names = {
    std::pair{Effort::cached, std::string_view{"cached"}},
    std::pair{Effort::estimate, std::string_view{"estimate"}},
    std::pair{Effort::measure, std::string_view{"measure"}},
    std::pair{Effort::exhaustive, std::string_view{"exhaustive"}},
    std::pair{Effort::online, std::string_view{"online"}},
};

Device chosen_device(const ContextOptions& options, const Context& context) {
  if (options.device) return *options.device;
  auto device = default_device();
  if (built_with_cuda && device.backend == Backend::host) {
    context.warn("no CUDA device was found: products run on the host");
  }
  return device;
}

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::shared_ptr<Database> chosen_database(const ContextOptions& options, const Context& context) {
  const auto file = options.database ? *options.database : Database::default_path();
  if (file.empty()) return Database::in_memory();
  return Database::open(file, [&context](const std::string& message) { context.warn(message); });
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
      catalogue_(format_catalogue()),
      recheck_share_(options.recheck_share),
      effort_(options.effort),
      limits_(options.limits),
      logger_(options.logger ? options.logger : spdlog::default_logger()) {
  // Meets every format of both value types: what the background uses of them outlives a context that is static itself.
  (void)find_format<double>({});
  (void)find_format<float>({});
  device_ = chosen_device(options, *this);
  database_ = chosen_database(options, *this);
  if (effort_ == Effort::online) (void)workers();
}

// What runs in the background ends before the members go that it reads.
Context::~Context() {
  ending_ = true;
  workers_.reset();
}

// Bare text: as a format string, the braces of a message would be read as its fields.
void Context::warn(std::string_view message) const { logger_->log(spdlog::level::warn, message); }

void Context::error(std::string_view message) const { logger_->log(spdlog::level::err, message); }

void Context::complain(const TrialRecord& trial) const {
  const auto outcome = trial.measurement.outcome;
  if (outcome != Outcome::wrong_answer && outcome != Outcome::failed) return;
  error(trial.candidate.text() + ": " + std::string(name_of(outcome)) + ": " + trial.measurement.detail);
}

Workers& Context::workers() const {
  std::call_once(workers_made_, [this] {
    // What a thread asks of the device first takes longest.
    workers_ = std::make_unique<Workers>([device = device_] {
      try {
        const DeviceScope scope(device);
        synchronize(device, setup_stream(device));
      } catch (const Error&) {
        // The device fails, which the first task will say.
      }
    });
  });
  return *workers_;
}

double Context::copy_bandwidth() const {
  std::call_once(copy_measured_, [this] { copy_bandwidth_ = measure_copy_bandwidth(device_); });
  return copy_bandwidth_;
}

CostModel Context::cost_model() const {
  auto coefficients = default_coefficients(device_.backend);
  for (const auto& [name, value] : database_->coefficients(std::string(name_of(device_.backend)), device_.name)) {
    for (const auto& info : coefficient_table()) {
      if (name == info.name && value >= info.least && value <= info.most) coefficients.*info.member = value;
    }
  }
  return {device_, copy_bandwidth(), coefficients};
}

template <Scalar T>
std::shared_ptr<const Experience<T>> Context::experience() const {
  auto& learned = std::get<Learned<T>>(learned_);
  const std::scoped_lock one_at_a_time(learned.reading);
  const auto tuned = tuned_.load();
  if (auto known = known_experience<T>()) {
    // A few matrices more change little, and reading all of them takes time.
    const auto enough = std::max<std::size_t>(8, known->matrices() / 4);
    if (tuned - learned.tuned < enough) return known;
  }
  const auto records = database_->recorded(std::string(name_of(device_.backend)), value_type_name<T>());
  const auto trials_of = [database = database_, catalogue = catalogue_](const TrialKey& key) {
    return database->passed(key, catalogue);
  };
  auto experience = std::make_shared<const Experience<T>>(records, trials_of, device_, cost_model());
  learned.tuned = tuned;
  const std::scoped_lock lock(learning_);
  learned.experience = experience;
  return experience;
}

template <Scalar T>
std::shared_ptr<const Experience<T>> Context::known_experience() const {
  const std::scoped_lock lock(learning_);
  return std::get<Learned<T>>(learned_).experience;
}

template <Scalar T>
void Context::read_ahead() const {
  if (device_.backend == Backend::host) return;
  auto& learned = std::get<Learned<T>>(learned_);
  std::shared_ptr<const Experience<T>> experience;
  {
    const std::scoped_lock lock(learning_);
    if (learned.ahead == learned.experience) return;
    experience = learned.ahead = learned.experience;
  }
  workers().run([this, experience = std::move(experience)] {
    try {
      while (!ending_ && experience->read_ahead()) {
      }
    } catch (const std::exception& error) {
      this->error(std::string("reading ahead: ") + error.what());
    }
  });
}

template std::shared_ptr<const Experience<float>> Context::experience() const;
template std::shared_ptr<const Experience<double>> Context::experience() const;
template std::shared_ptr<const Experience<float>> Context::known_experience() const;
template std::shared_ptr<const Experience<double>> Context::known_experience() const;
template void Context::read_ahead<float>() const;
template void Context::read_ahead<double>() const;

bool Context::recheck_due() const {
  recheck_ += recheck_share_;
  if (recheck_ < 1) return false;
  recheck_ -= 1;
  return true;
}

Context& Context::instance() {
  static Context context;
  return context;
}

}  // namespace autospmv
