#include "tuner/context/service.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <utility>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "core/error.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/printable.hpp"
#include "formats/format.hpp"
#include "tuner/context/layers.hpp"
#include "tuner/context/rehearsal.hpp"
#include "tuner/measure/meter.hpp"

namespace autospmv {

namespace {

Logger standard_logger() {
  auto logger = std::make_shared<spdlog::logger>("autospmv", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("autospmv: %l: %v");
  return [logger = std::move(logger)](LogLevel level, std::string_view message) {
    // Bare text: as a format string, the braces of a message would be read as its fields.
    logger->log(level == LogLevel::error ? spdlog::level::err : spdlog::level::warn, printable(message));
  };
}

Device chosen_device(const std::optional<Place>& wanted, const Service& service) {
  if (!wanted) {
    auto device = default_device();
    if (built_with_cuda && device.backend == Backend::host) {
      service.warn("no CUDA device was found: products run on the host");
    }
    return device;
  }
  if (wanted->backend == Backend::host) return host_device();
  if (!built_with_cuda) throw InvalidArgument("a CUDA device is asked for, but this library was built without CUDA");
  const auto devices = cuda_devices();
  const auto chosen = std::find_if(devices.begin(), devices.end(),
                                   [&](const Device& device) { return device.ordinal == wanted->ordinal; });
  if (chosen == devices.end()) {
    throw InvalidArgument("there is no CUDA device " + std::to_string(wanted->ordinal) + " among the " +
                          std::to_string(devices.size()) + " of this machine");
  }
  return *chosen;
}

std::shared_ptr<Database> chosen_database(const DatabaseChoice& choice, const Service& service) {
  if (choice.kind() == DatabaseChoice::Kind::memory) return Database::in_memory();
  if (choice.kind() == DatabaseChoice::Kind::snapshot) {
    return Database::look(choice.path().empty() ? Database::default_path() : choice.path());
  }
  const auto file = choice.kind() == DatabaseChoice::Kind::file ? choice.path() : Database::default_path();
  if (file.empty()) throw InvalidArgument("the database is a file without a name");
  return Database::open(file, [&service](const std::string& message) { service.warn(message); });
}

}  // namespace

Service::Service(const ContextOptions& options)
    : catalogue_(format_catalogue()),
      recheck_share_(options.recheck_share),
      effort_(options.effort),
      limits_(options.limits),
      log_(options.logger ? options.logger : standard_logger()),
      progress_(options.progress),
      stop_(options.stop) {
  // Meets every format of both value types: what the background uses of them outlives a service that is static itself.
  (void)find_format<double>({});
  (void)find_format<float>({});
  device_ = chosen_device(options.device, *this);
  database_ = chosen_database(options.database, *this);
  database_->put_under(layers_of(options, [this](const std::string& message) { warn(message); }));
  if (!options.background) return;
  background_ = std::make_unique<Background>([device = device_] {
    try {
      // What a thread asks of the device first takes longest.
      const DeviceScope scope(device);
      synchronize(device, setup_stream(device));
    } catch (const Error&) {
      // The device fails, which the first task will say.
    }
  });
  if (effort_ == Effort::online && device_.backend == Backend::cuda && background_->start()) get_ready();
}

// Of both types, that of the matrices that there are goes first.
void Service::get_ready() const {
  constexpr auto steps = 1 + rehearsal_steps;
  const auto ready = std::make_shared<std::pair<std::size_t, std::size_t>>();
  const auto take_step = [this, ready] {
    auto& [doubles, floats] = *ready;
    const bool only_floats = MatrixData<float>::exists() && !MatrixData<double>::exists();
    if (floats < steps && (only_floats || doubles == steps)) {
      get_ready<float>(floats++);
    } else {
      get_ready<double>(doubles++);
    }
  };
  (void)background_->post([this] {
    if (is_idle()) database_->rehearse();
  });
  for (std::size_t step = 0; step < 2 * steps; ++step) {
    (void)background_->post([this, take_step] {
      if (is_idle()) take_step();
    });
  }
}

template <class T>
void Service::get_ready(std::size_t step) const noexcept {
  if (step > 0) {
    rehearse<T>(device_, step - 1, [this] { return is_idle(); });
  } else {
    read_ahead<T>();
  }
}

template <class T>
void Service::read_ahead() const noexcept {
  try {
    (void)history<T>();
    prefetch<T>();
  } catch (const std::exception& error) {
    tell(LogLevel::error, "reading what is known of other matrices", error.what());
  }
}

Service::~Service() = default;

void Service::shut_down() {
  std::vector<std::weak_ptr<Ongoing>> ongoing;
  std::vector<std::weak_ptr<Attachments>> plans;
  {
    const std::scoped_lock lock(watching_);
    ended_ = true;
    ongoing.swap(ongoing_);
    plans.swap(plans_);
  }
  for (const auto& one : plans) {
    if (const auto kept = one.lock()) kept->drop(this);
  }
  for (const auto& one : ongoing) {
    if (const auto going_on = one.lock()) going_on->stop();
  }
  if (background_) background_->stop();
}

bool Service::start_background() const {
  if (background_ == nullptr) return false;
  if (background_->start()) return true;
  if (!lacks_thread_.exchange(true)) {
    tell(LogLevel::warning, "nothing is tuned online", "no thread can be started");
  }
  return false;
}

bool Service::watch(std::weak_ptr<Ongoing> ongoing) const {
  const std::scoped_lock lock(watching_);
  if (ended_) return false;
  std::erase_if(ongoing_, [](const auto& one) { return one.expired(); });
  ongoing_.push_back(std::move(ongoing));
  return true;
}

void Service::remember(const std::shared_ptr<Attachments>& plans) const {
  const std::scoped_lock lock(watching_);
  std::erase_if(plans_, [](const auto& one) { return one.expired(); });
  plans_.push_back(plans);
}

void Service::tell(LogLevel level, std::string_view what, std::string_view why) const noexcept {
  try {
    try {
      log_(level, std::string(what).append(": ").append(why));
    } catch (const std::bad_alloc&) {
      log_(level, what);
    }
  } catch (...) {
    // Nobody can be told.
  }
}

void Service::complain(const TrialRecord& trial) const {
  const auto outcome = trial.measurement.outcome;
  if (outcome != Outcome::wrong_answer && outcome != Outcome::failed) return;
  error(trial.candidate.text() + ": " + std::string(name_of(outcome)) + ": " + trial.measurement.detail);
}

namespace {

// Of this process' devices: the same for every context.
class MeasuredBandwidths {
 public:
  static MeasuredBandwidths& get() {
    static auto& one = *new MeasuredBandwidths();  // a context may be as static itself
    return one;
  }

  std::mutex mutex;
  std::map<std::string, double> of_device;
};

std::string bandwidth_key(const Device& device) {
  return std::string(name_of(device.backend)) + std::to_string(device.ordinal) + device.name;
}

}  // namespace

std::optional<double> Service::known_copy_bandwidth() const {
  auto& measured = MeasuredBandwidths::get();
  const std::scoped_lock lock(measured.mutex);
  auto& bandwidth = measured.of_device[bandwidth_key(device_)];
  if (bandwidth > 0) return bandwidth;
  const auto remembered = database_->copy_bandwidth(std::string(name_of(device_.backend)), device_.name);
  if (remembered) bandwidth = *remembered;
  return remembered;
}

// Takes as long as thousands of products, so it is remembered for the next process too.
double Service::copy_bandwidth() const {
  static std::mutex one_at_a_time;
  const std::scoped_lock alone(one_at_a_time);
  if (const auto known = known_copy_bandwidth()) return *known;
  const auto measured = measure_copy_bandwidth(device_);
  if (measured.undisturbed) {
    database_->record_copy_bandwidth(std::string(name_of(device_.backend)), device_.name, measured.bytes_a_second);
  }
  const std::scoped_lock lock(MeasuredBandwidths::get().mutex);
  return MeasuredBandwidths::get().of_device[bandwidth_key(device_)] = measured.bytes_a_second;
}

// On a host measuring it takes as long as hundreds of products, and what caches serve does not depend on it. On a
// device it takes milliseconds, in which products beside it are several times as slow.
double Service::usual_bandwidth() const {
  constexpr double of_thread = 2.5e10;
  if (device_.backend == Backend::host) return of_thread * std::max(1, device_.multiprocessors);
  const double expected = expected_copy_bandwidth(device_);
  return expected > 0 ? expected : copy_bandwidth();
}

CostModel Service::cost_model() const {
  auto coefficients = default_coefficients(device_.backend);
  for (const auto& [name, value] : database_->coefficients(std::string(name_of(device_.backend)), device_.name)) {
    for (const auto& info : coefficient_table()) {
      if (name == info.name && value >= info.least && value <= info.most) coefficients.*info.member = value;
    }
  }
  const auto known = known_copy_bandwidth();
  return {device_, known ? *known : usual_bandwidth(), coefficients};
}

template <Scalar T>
std::shared_ptr<const History<T>> Service::history() const {
  auto& past = std::get<Past<T>>(past_);
  const std::scoped_lock one_at_a_time(past.reading);
  const auto tuned = tuned_.load();
  if (auto known = known_history<T>()) {
    // A few matrices more change little, and reading all of them takes time.
    const auto enough = std::max<std::size_t>(8, known->matrices() / 4);
    if (tuned - past.tuned < enough) return known;
  }
  const auto model = cost_model();
  std::optional<HistoryOrigin> origin;
  // Only what is prefetched is ever read to its end.
  if (auto layers = prefetches() ? database_->state_of_layers() : std::nullopt) {
    origin = HistoryOrigin{std::move(*layers), device_, device_.any_padding, model};
  }
  auto history = origin ? shared_history<T>(*origin) : nullptr;
  if (history == nullptr) {
    auto points =
        database_->points(std::string(name_of(device_.backend)), std::string(value_type_name<T>()), point_maker<T>());
    const auto known = [database = database_, catalogue = catalogue_](const RecordedPoints& all,
                                                                      std::span<const std::size_t> which) {
      return database->known(all, which, catalogue);
    };
    history = std::make_shared<const History<T>>(std::move(points), known, device_, model);
  }
  past.tuned = tuned;
  const std::scoped_lock lock(history_mutex_);
  past.history = history;
  past.origin = std::move(origin);
  return history;
}

template <Scalar T>
std::shared_ptr<const History<T>> Service::known_history() const {
  const std::scoped_lock lock(history_mutex_);
  return std::get<Past<T>>(past_).history;
}

template <Scalar T>
void Service::prefetch() const {
  if (!prefetches()) return;
  {
    auto& past = std::get<Past<T>>(past_);
    const std::scoped_lock lock(history_mutex_);
    if (past.prefetched == past.history) return;
    past.prefetched = past.history;
  }
  // A step at a time, so that tunings need not wait for the last of them. The thread ends before this does.
  struct Step {
    const Service* service;

    void operator()() const {
      try {
        if (service->prefetch_one<T>()) (void)service->background_->post(*this);
      } catch (const std::exception& error) {
        service->tell(LogLevel::error, "prefetching", error.what());
      }
    }
  };
  (void)background_->post(Step{this});
}

template <class T>
bool Service::prefetch_one() const {
  auto& past = std::get<Past<T>>(past_);
  std::shared_ptr<const History<T>> history;
  std::optional<HistoryOrigin> origin;
  {
    const std::scoped_lock lock(history_mutex_);
    if (!is_idle()) {
      past.prefetched = nullptr;  // what works now asks for the rest when it ends
      return false;
    }
    history = past.prefetched = past.history;
    origin = past.origin;
  }
  if (history->prefetch()) return true;
  if (origin && history->complete()) share_history(*origin, std::move(history));
  return false;
}

template std::shared_ptr<const History<float>> Service::history() const;
template std::shared_ptr<const History<double>> Service::history() const;
template std::shared_ptr<const History<float>> Service::known_history() const;
template std::shared_ptr<const History<double>> Service::known_history() const;
template void Service::prefetch<float>() const;
template void Service::prefetch<double>() const;

bool Service::recheck_due() const {
  recheck_ += recheck_share_;
  if (recheck_ < 1) return false;
  recheck_ -= 1;
  return true;
}

}  // namespace autospmv
