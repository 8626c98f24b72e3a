// Tuning on the caller's own products: Effort::online.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <future>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/trial.hpp"
#include "formats/format.hpp"
#include "tuner/caller_stream.hpp"
#include "tuner/candidates.hpp"
#include "tuner/context.hpp"
#include "tuner/search.hpp"
#include "tuner/verifier.hpp"

namespace autospmv {

/// What an online tuning starts from.
template <class T>
struct OnlineTask {
  CsrView<T> matrix;  ///< in the memory of the context's device; outlives the tuning
  TrialKey key;
  MatrixRecord described;           ///< without features where they were not extracted
  std::vector<Prospect> prospects;  ///< empty: made from the features, in the background
  double setup_seconds = 0;         ///< of the operator that there is
  FormatLookup<T> formats = find_format<T>;
  std::string effort_mark;  ///< noted in the database when every candidate was tried
  std::string catalogue;    ///< format_catalogue()
};

/// The operator of a plan while it may still change. A background thread builds the candidates that promise to pay one
/// after another on the setup stream and verifies each; the next products then use it instead of the best so far and
/// are timed in their own streams, by events that nobody waits for. The median decides which of the two stays. At the
/// end the trials are in the database, the losers are freed, the thread is free for the next, and a product is a
/// product.
///
/// Every product is one that the caller asked for, except for one reference product a set of values and one product of
/// each candidate, which verify it, and a second one where that seemed too slow for it to ride at all. Products never
/// wait for the background thread, and take no memory of the device. Which candidate one uses depends on time: its last
/// bits may differ from call to call until the tuning has settled.
template <class T>
class Online {
 public:
  /// `first` is used until something faster was found. The context outlives this.
  Online(const Context& context, OnlineTask<T> task, TrialRecord first, std::unique_ptr<Operator<T>> op);

  /// The device has run every product.
  ~Online();

  /// Ends the background thread, at the latest with the candidate that it builds, and keeps in the database what was
  /// measured. The best so far stays.
  void stop();

  /// y = alpha A x + beta y; safe from many threads and streams at once. A stream that is being captured gets the best
  /// so far, which is then kept for as long as this lives. Where a candidate cannot be launched, the best so far is.
  void apply(T alpha, const T* x, T beta, T* y, Stream stream);

  /// As in Attachment. May wait for the candidate that is being built, which keeps no product waiting.
  [[nodiscard]] std::unique_lock<std::mutex> hold_values();
  void values_changed(const CsrView<T>& matrix, Stream stream);

  /// The best so far.
  [[nodiscard]] TrialRecord choice() const;
  [[nodiscard]] std::int64_t bytes() const;
  /// How the tuning weighs trials that ride.
  [[nodiscard]] static SearchRules rules();

  /// Whether it is the best for good.
  [[nodiscard]] bool settled() const { return settled_.load(std::memory_order_acquire) != nullptr; }

 private:
  static constexpr int warm_up_rides = 2;
  static constexpr int timed_rides = 7;
  static constexpr int most_streams = 32;  // that are followed
  static constexpr int most_ends = 32;     // that are waited for at a time
  // How long the tuning waits for the next product of a stream whose last one used a loser.
  static constexpr std::chrono::milliseconds patience{100};
  // If all its warm-up rides are this much slower than the best, a candidate rides no more; or never.
  static constexpr double hopeless_factor = 4;

  // An operator that products may use.
  struct Runner {
    TrialRecord record;
    std::unique_ptr<Operator<T>> op;
    int launching = 0;    // threads that are giving it to a stream
    bool pinned = false;  // in a graph, or in streams that nobody followed: kept to the end
  };
  // One timed product of the candidate under trial.
  struct Ride {
    enum class State : std::uint8_t { idle, launching, running, done };
    std::unique_ptr<Stopwatch> watch;
    State state = State::idle;
    double seconds = 0;  // 0: passed over
  };
  // A stream that other products were given to, and the runner that the last of them used.
  struct Followed {
    std::uint64_t stream = 0;
    Runner* runner = nullptr;  // nullptr: none
  };
  // The last product of a runner in a stream.
  struct End {
    std::unique_ptr<Stopwatch> watch;
    const Runner* runner = nullptr;
    std::uint64_t stream = 0;
  };
  class Product;

  void run();
  bool search();
  void prepare();
  void try_first(Runner& runner);
  Measurement try_candidate(const Prospect& prospect);
  /// nullptr where it is not to ride: it did not pass, or the product that verified it was so slow that its measurement
  /// is this one.
  [[nodiscard]] std::unique_ptr<Operator<T>> build(const Prospect& prospect, Measurement& measurement);
  void verify(const Operator<T>& op, Measurement& measurement, double limit);
  /// Seconds of a product past which a candidate rides no more, or never; none before the best is measured.
  [[nodiscard]] double hopeless_seconds() const;
  [[nodiscard]] std::string limit_that_forbids(const Prospect& prospect, double bytes);
  bool ride(Runner& runner);
  void judge(Runner& runner);
  void settle(bool ended);
  void free_losers();
  [[nodiscard]] bool stopping() const;

  // With mutex_ held.
  void collect();
  [[nodiscard]] bool is_hopeless() const;
  void pass_over_idle_rides();
  void note_use(Runner& runner, Stream stream);
  void note_end(Runner& runner, Stream stream);
  [[nodiscard]] bool in_use(const Runner& runner) const;
  [[nodiscard]] bool all_use_the_best() const;

  const Context& context_;
  Place place_;

  // Held where the matrix's values are read or written, and while the operator of a candidate is not yet among the
  // runners that new values reach.
  std::mutex values_;
  OnlineTask<T> task_;
  std::unique_ptr<Verifier<T>> verifier_;  // nullptr where the values have changed

  // Of the background thread alone.
  std::vector<TrialRecord> records_;
  double best_total_ = std::numeric_limits<double>::infinity();
  bool left_out_ = false;  // a candidate, by a limit that other tunings may not have

  mutable std::mutex mutex_;  // held for moments only; guards everything below
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Runner>> runners_;
  Runner* best_ = nullptr;
  Runner* riding_ = nullptr;
  std::array<Ride, warm_up_rides + timed_rides> rides_;
  std::array<Followed, most_streams> followed_;
  std::array<End, most_ends> ends_;
  std::string failure_;  // of the last one that rode; empty where it did not fail
  bool stopping_ = false;

  std::atomic<const Operator<T>*> settled_ = nullptr;
  std::future<void> ended_;  // of the background
};

extern template class Online<float>;
extern template class Online<double>;

}  // namespace autospmv
