// Where products run and how hard to look for the best: the only state there is beside the matrices themselves.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include <spdlog/fwd.h>

#include "core/device.hpp"
#include "core/trial.hpp"
#include "core/types.hpp"
#include "db/database.hpp"
#include "tuner/cost_model.hpp"
#include "tuner/experience.hpp"
#include "tuner/workers.hpp"

namespace autospmv {

/// How hard to look, after FFTW's planner.
enum class Effort : std::uint8_t {
  cached,      ///< never a trial: what the database knows, else plain CSR
  estimate,    ///< never a trial: what the database knows, else what other matrices and the cost model predict
  measure,     ///< trials of a short list
  exhaustive,  ///< trials of every admitted candidate
  online,      ///< trials ride on the caller's own products: see tuner/online.hpp
};

std::string_view name_of(Effort effort);
std::optional<Effort> parse_effort(std::string_view name);

struct ContextOptions {
  std::optional<Device> device = {};                   ///< none: default_device()
  std::optional<std::filesystem::path> database = {};  ///< none: Database::default_path(); empty: memory only
  Effort effort = Effort::measure;
  Limits limits = {};
  /// Of the plans that come from the database, how many are timed again, against the baseline, before they are used.
  double recheck_share = 0.1;
  std::shared_ptr<spdlog::logger> logger = {};  ///< none: spdlog's default one
};

/// Immutable once made, and safe from many threads. It outlives the plans made with it.
class Context {
 public:
  /// Throws Error where the database belongs to a newer version of this library.
  explicit Context(const ContextOptions& options = {});
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// The one that auto_spmv(A, x, y) uses: made on its first use, from ContextOptions{}.
  static Context& instance();

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] Database& database() const { return *database_; }
  [[nodiscard]] Effort effort() const { return effort_; }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  /// format_catalogue(), made once.
  [[nodiscard]] const std::string& catalogue() const { return catalogue_; }

  /// Messages to the logger of the options.
  void warn(std::string_view message) const;
  void error(std::string_view message) const;

  /// An error where the candidate failed or gave a wrong answer, else nothing.
  void complain(const TrialRecord& trial) const;

  /// Different for every Context of this process: the key under which its plans are attached to matrices.
  [[nodiscard]] std::uint64_t id() const { return id_; }

  /// Held while a matrix is tuned: two measurements at once would both be wrong.
  [[nodiscard]] std::mutex& tuning() const { return tuning_; }

  /// What tunes in the background.
  [[nodiscard]] Workers& workers() const;

  /// Bytes a second of a device-to-device copy, read and written, measured on the first call.
  [[nodiscard]] double copy_bandwidth() const;

  /// With the coefficients that were fitted for this device, else the defaults.
  [[nodiscard]] CostModel cost_model() const;

  /// What the database's trials of other matrices teach, read on the first call and again when it has grown. That takes
  /// as long as thousands of small products.
  template <Scalar T>
  [[nodiscard]] std::shared_ptr<const Experience<T>> experience() const;

  /// What the last call of experience() read, at once; nullptr where there was none.
  template <Scalar T>
  [[nodiscard]] std::shared_ptr<const Experience<T>> known_experience() const;

  /// Reads in the background what predictions for the next matrices will ask experience() for. Nothing where products
  /// run on the host: it would slow them down.
  template <Scalar T>
  void read_ahead() const;

  /// Says that a matrix was tuned.
  void note_tuned() const { ++tuned_; }

  /// Whether the plan that is about to be made from the database is to be timed again: one in every 1 / recheck_share.
  /// Called with tuning() held.
  [[nodiscard]] bool recheck_due() const;

 private:
  std::uint64_t id_;
  std::string catalogue_;
  mutable std::mutex tuning_;
  mutable std::once_flag copy_measured_;
  mutable double copy_bandwidth_ = 0;
  template <class T>
  struct Learned {
    std::mutex reading;
    std::shared_ptr<const Experience<T>> experience;  // guarded by learning_
    std::size_t tuned = 0;                            // when it was read; guarded by reading
    std::shared_ptr<const Experience<T>> ahead;       // what is read ahead, or was; guarded by learning_
  };
  mutable std::tuple<Learned<float>, Learned<double>> learned_;
  mutable std::mutex learning_;  // held for moments only
  mutable std::atomic<std::size_t> tuned_ = 0;
  mutable double recheck_ = 0;
  double recheck_share_ = 0;
  Device device_;
  Effort effort_;
  Limits limits_;
  std::shared_ptr<spdlog::logger> logger_;
  std::shared_ptr<Database> database_;
  mutable std::atomic<bool> ending_ = false;
  mutable std::once_flag workers_made_;
  mutable std::unique_ptr<Workers> workers_;
};

}  // namespace autospmv
