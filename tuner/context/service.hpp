// What stands behind a Context: the device, what is known, and the thread that works in the background.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "autospmv/context.hpp"
#include "autospmv/options.hpp"
#include "core/machine/device.hpp"
#include "core/matrix/access.hpp"
#include "core/matrix/attachments.hpp"
#include "core/trial.hpp"
#include "core/types.hpp"
#include "core/uncopied.hpp"
#include "db/database.hpp"
#include "tuner/context/background.hpp"
#include "tuner/context/shared_histories.hpp"
#include "tuner/predict/cost_model.hpp"
#include "tuner/predict/history.hpp"

namespace autospmv {

/// Something that works on after the call that began it.
class Ongoing : Uncopied {
 public:
  virtual ~Ongoing() = default;

  /// Returns when it does nothing any more.
  virtual void stop() = 0;
};

/// Safe from many threads. Owned by the handles of its context, and by what goes on in the background as long as it
/// does.
class Service : Uncopied {
 public:
  /// As Context's constructor.
  explicit Service(const ContextOptions& options);
  ~Service();

  /// The last handle is gone: whatever goes on is stopped, and matrices forget the plans that they keep for this.
  void shut_down();

  [[nodiscard]] const Device& device() const { return device_; }
  /// From now on formats take matrices however much they pad. Called before anything is tuned or measured.
  void admit_any_padding() { device_.any_padding = true; }
  [[nodiscard]] Database& database() const { return *database_; }
  /// Of plans that are not told otherwise.
  [[nodiscard]] Effort effort() const { return effort_; }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  /// Of calls that tune before they return.
  [[nodiscard]] const std::function<void(const Progress&)>& progress() const { return progress_; }
  [[nodiscard]] const Stop& stop() const { return stop_; }
  /// format_catalogue(), made once.
  [[nodiscard]] const std::string& catalogue() const { return catalogue_; }

  /// Messages to the caller's logger.
  void warn(std::string_view message) const { log_(LogLevel::warning, message); }
  void error(std::string_view message) const { log_(LogLevel::error, message); }

  /// "what: why". Never throws: where there is no memory even for the words, it says less.
  void tell(LogLevel level, std::string_view what, std::string_view why) const noexcept;

  /// An error where the candidate failed or gave a wrong answer, else nothing.
  void complain(const TrialRecord& trial) const;

  /// Held while a matrix is tuned: two measurements at once would both be wrong.
  [[nodiscard]] std::mutex& tuning() const { return tuning_; }

  /// The thread in the background. Nullptr where the options want none.
  [[nodiscard]] Background* background() const { return background_.get(); }

  /// Starts that thread, if need be; false where there is none. Warns once where none can be started.
  [[nodiscard]] bool start_background() const;

  /// To be stopped by shut_down(), where it still goes on then. False where that is past.
  [[nodiscard]] bool watch(std::weak_ptr<Ongoing> ongoing) const;
  /// Where shut_down() has a plan to drop.
  void remember(const std::shared_ptr<Attachments>& plans) const;

  /// Bytes a second of a device-to-device copy, read and written: what the database remembers of this machine, else
  /// measured on the first call of the process.
  [[nodiscard]] double copy_bandwidth() const;

  /// With the coefficients that were fitted for this device, else the defaults.
  [[nodiscard]] CostModel cost_model() const;

  /// The database's trials of other matrices, read on the first call and again when it has grown. That takes
  /// as long as thousands of small products.
  template <Scalar T>
  [[nodiscard]] std::shared_ptr<const History<T>> history() const;

  /// What the last call of history() read, at once; nullptr where there was none.
  template <Scalar T>
  [[nodiscard]] std::shared_ptr<const History<T>> known_history() const;

  /// Reads in the background what predictions for the next matrices will ask history() for, as long as nothing else
  /// works there. Nothing where products run on the host: it would slow them down.
  template <Scalar T>
  void prefetch() const;

  /// Held by what works in the background as long as it does: nothing is prefetched meanwhile.
  [[nodiscard]] std::shared_ptr<const void> work() const { return work_; }

  /// Says that a matrix was tuned.
  void note_tuned() const { ++tuned_; }

  /// Whether plans from the database are timed at all before they are used.
  [[nodiscard]] bool rechecks() const { return recheck_share_ > 0; }
  /// Whether the plan that is about to be made from the database is to be timed again, beside the baseline: one in
  /// every 1 / recheck_share. Called with tuning() held.
  [[nodiscard]] bool recheck_due() const;

 private:
  /// Nothing works in the background.
  [[nodiscard]] bool is_idle() const { return work_.use_count() == 1; }
  /// Not where products run on the host.
  [[nodiscard]] bool prefetches() const { return device_.backend != Backend::host && background_ != nullptr; }
  /// Has the thread in the background do what a tuning would wait for, while there is none.
  void get_ready() const;
  template <class T>
  void get_ready(std::size_t step) const noexcept;
  /// The copy bandwidth where that takes no measurement.
  [[nodiscard]] std::optional<double> known_copy_bandwidth() const;
  /// What predictions take for it where nobody has measured it.
  [[nodiscard]] double usual_bandwidth() const;

  template <class T>
  void read_ahead() const noexcept;
  /// Whether there may be more to prefetch.
  template <class T>
  [[nodiscard]] bool prefetch_one() const;

  template <class T>
  struct Past {
    std::mutex reading;
    std::size_t tuned = 0;                         // when the history was read; guarded by reading
    std::shared_ptr<const History<T>> history;     // this and what follows: guarded by history_mutex_
    std::optional<HistoryOrigin> origin;           // of a history that other contexts may share
    std::shared_ptr<const History<T>> prefetched;  // or being so
  };

  std::string catalogue_;
  mutable std::mutex tuning_;
  mutable std::tuple<Past<float>, Past<double>> past_;
  mutable std::mutex history_mutex_;  // held for moments only
  mutable std::atomic<std::size_t> tuned_ = 0;
  mutable double recheck_ = 0;
  double recheck_share_ = 0;
  Effort effort_;
  Limits limits_;
  Logger log_;
  std::function<void(const Progress&)> progress_;
  Stop stop_;
  Device device_;
  std::shared_ptr<Database> database_;

  mutable std::mutex watching_;  // guards what follows
  mutable bool ended_ = false;
  mutable std::vector<std::weak_ptr<Ongoing>> ongoing_;
  mutable std::vector<std::weak_ptr<Attachments>> plans_;

  std::shared_ptr<const void> work_ = std::make_shared<char>();
  std::unique_ptr<Background> background_;
  mutable std::atomic<bool> lacks_thread_ = false;
};

namespace detail {

/// What the handles of one context share.
struct ContextState : Uncopied {
  explicit ContextState(const ContextOptions& options) : service(std::make_shared<Service>(options)) {}
  ~ContextState() { service->shut_down(); }

  std::shared_ptr<Service> service;
};

}  // namespace detail

/// What a handle stands for.
inline const std::shared_ptr<Service>& shared_service_of(const Context& context) {
  return detail::Access::state_of(context)->service;
}
inline Service& service_of(const Context& context) { return *shared_service_of(context); }

}  // namespace autospmv
