// Tuning on the caller's own products: Effort::online.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/matrix_data.hpp"
#include "core/trial.hpp"
#include "formats/format.hpp"
#include "tuner/background.hpp"
#include "tuner/budget.hpp"
#include "tuner/caller_stream.hpp"
#include "tuner/candidates.hpp"
#include "tuner/clock.hpp"
#include "tuner/live_operator.hpp"
#include "tuner/search.hpp"
#include "tuner/service.hpp"
#include "tuner/steps.hpp"
#include "tuner/verifier.hpp"

namespace autospmv {

/// What an online tuning starts from.
template <class T>
struct OnlineTask {
  std::shared_ptr<const MatrixData<T>> matrix;
  Limits limits;
  TrialKey key = {};                     ///< without a pattern: found out when that may be paid for
  MatrixRecord described;                ///< without features where they were not extracted
  std::vector<Prospect> prospects = {};  ///< empty: made from the features, likewise
  double setup_seconds = 0;              ///< of the operator that there is
  FormatLookup<T> formats = find_format<T>;
  std::string catalogue;  ///< format_catalogue()
};

/// The operator of a plan while it may still change. It begins with plain CSR, whose first products are timed: what
/// they take is what everything else is weighed against. Then, step by step: what the database knows of this matrix,
/// else its features, what they predict, and the candidates that promise to pay, one after another. Each is built and
/// verified; the next products then use it instead of the best so far and are timed, on a device by events that nobody
/// waits for. The median decides which of the two stays. At the end the trials are in the database, the losers are
/// freed, and a product is a product.
///
/// On a device the steps run in the background, on the setup stream; products never wait for them. On the host, where a
/// thread in the background would take the processors that the products run on, they run in slices within the caller's
/// own calls, each when the products so far have earned what it is expected to take (Budget). While the search waits it
/// holds no thread, so that one is enough for any number of matrices; where there is none, the first operator of a
/// device stays.
///
/// Every product is one that the caller asked for, except for the reference products of a set of values and the
/// products that verify each candidate, of x and y of the tuning's own (see Verifier). They take no memory of the
/// device. Which candidate one uses depends on time: its last bits may differ from call to call until the tuning has
/// settled.
///
/// New values of another kind than the trials are filed under end the search: what was measured before is kept.
template <class T>
class Online final : public Ongoing, public std::enable_shared_from_this<Online<T>> {
 public:
  /// `first` is used until something faster was found. Takes the operator only where nothing is thrown.
  Online(std::shared_ptr<Service> service, OnlineTask<T> task, const TrialRecord& first,
         std::unique_ptr<LiveOperator<T>>&& op);

  /// Starts the search, once this is shared.
  void begin();

  /// Ends it, at the latest with the candidate that is being built, and keeps in the database what was measured. The
  /// best so far stays. Nobody may hold the values of the matrix meanwhile.
  void stop() override;

  /// y = alpha A x + beta y; safe from many threads and streams at once. A stream that is being captured gets the best
  /// so far, which is then kept for as long as this lives. Where a candidate cannot be launched, the best so far is.
  void apply(T alpha, const T* x, T beta, T* y, Stream stream);

  /// As in ValuesObserver.
  [[nodiscard]] bool takes_any_values() const;
  void drain();
  void prepare(const CsrView<T>& next, Stream stream);
  void abandon(const CsrView<T>& former, Stream stream);
  void commit(const CsrView<T>& next, Stream stream);

  /// The best so far.
  [[nodiscard]] TrialRecord choice() const;
  [[nodiscard]] std::int64_t bytes() const;
  /// What the search has taken so far: of the caller on the host, else of the background.
  [[nodiscard]] double tuning_seconds() const;

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
    std::unique_ptr<LiveOperator<T>> op;
    int launching = 0;    // threads that are giving it to a stream, or new values to it
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

  // Gives the thread back until so much may be spent: seconds of the caller.
  struct Affordable {
    Online& online;
    double seconds;

    [[nodiscard]] bool await_ready() const { return online.affords(seconds); }
    static void await_suspend(std::coroutine_handle<>) noexcept {}
    static void await_resume() noexcept {}
  };
  // Gives the thread back for so long; on the host, until the next product.
  struct Pause {
    Online& online;
    std::chrono::milliseconds duration;

    static bool await_ready() noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const { online.post(duration); }
    static void await_resume() noexcept {}
  };
  // Gives it back until products have used the candidate often enough.
  struct RidesDone {
    Online& online;

    static bool await_ready() noexcept { return false; }
    bool await_suspend(std::coroutine_handle<>) const {
      const std::scoped_lock lock(online.mutex_);
      online.waiting_ = !online.has_ridden();
      return online.waiting_;
    }
    static void await_resume() noexcept {}
  };

  /// How the tuning weighs trials that ride.
  [[nodiscard]] static SearchRules rules();
  Steps work();
  void post(std::chrono::milliseconds delay = {});
  void resume();
  /// Takes the next step where one is due, on the host.
  void take_turn();
  [[nodiscard]] bool on_host() const { return place_.backend == Backend::host; }
  /// Whether so much may be spent now. If not, the next step is due when it may.
  [[nodiscard]] bool affords(double seconds);
  /// What a piece of work is expected to take of the caller: so many products of plain CSR, and so many seconds.
  [[nodiscard]] double price(double products, double seconds) const;
  /// Seconds that it takes to predict all candidates.
  [[nodiscard]] double expected_prediction() const;
  [[nodiscard]] double price_of_rides(double seconds) const;
  [[nodiscard]] double price_of_trial(const Prospect& prospect) const;
  /// The key, and the winner where all that this effort tries was tried before.
  [[nodiscard]] std::optional<TrialRecord> look_up();
  [[nodiscard]] Prospect prospect_of(const TrialRecord& trial) const;
  /// Whether products take so much longer than is known that it was not them who were measured.
  [[nodiscard]] bool is_doubtful(const Runner& runner, const Measurement& known) const;
  void prepare();
  void verify_first();
  /// The runner that is to ride, or nullptr where `trial` says why not.
  enum class Verification : std::uint8_t { due, done_before };
  [[nodiscard]] Runner* make_runner(const Prospect& prospect, Measurement& trial, Verification verification);
  /// nullptr where it is not to ride: it did not pass, or the product that verified it was so slow that its measurement
  /// is this one.
  [[nodiscard]] std::unique_ptr<Operator<T>> build(const Prospect& prospect, Measurement& measurement,
                                                   Verification verification);
  [[nodiscard]] std::shared_ptr<Verifier<T>> make_verifier();
  void verify(const Operator<T>& op, Measurement& measurement, double limit);
  /// Seconds of a product past which a candidate rides no more, or never; none before the best is measured.
  [[nodiscard]] double hopeless_seconds() const;
  [[nodiscard]] std::string limit_that_forbids(const Prospect& prospect, double bytes);
  [[nodiscard]] bool is_launching() const;
  /// By its last products, on the host.
  void time_best_anew();
  [[nodiscard]] Timing summary_of_rides(std::vector<double> seconds) const;
  void board(Runner& runner);
  void alight(Runner& runner);
  void judge(Runner& runner);
  /// Whether it is the best so far; then products use it.
  bool adopt_if_best(Runner& runner);
  void record(bool all_tried);
  [[nodiscard]] bool changed_over() const;
  void settle();
  /// Whether none is left.
  bool free_losers();
  [[nodiscard]] std::unique_ptr<Runner> take_loser();
  [[nodiscard]] bool is_over() const;

  // New values: every runner stays while it gets them.
  void pin_runners();
  void unpin_runners(Stream stream);
  [[nodiscard]] bool same_kind(const CsrView<T>& matrix, Stream stream) const;
  void end_search();

  // With mutex_ held.
  /// Spends what the step in hand has taken since it was last charged.
  void charge();
  /// What products have earned since it was last asked.
  void account();
  [[nodiscard]] bool has_ridden() const;
  void wake();
  void collect();
  [[nodiscard]] bool is_hopeless() const;
  void pass_over_idle_rides();
  void note_seconds(const Runner& runner, double seconds);
  void note_use(Runner& runner, Stream stream);
  void note_end(Runner& runner, Stream stream);
  [[nodiscard]] bool in_use(const Runner& runner) const;

  std::shared_ptr<Service> service_;  // of the background alone, and let go of at the end
  Device device_;
  Place place_;
  OnlineTask<T> task_;
  Steps steps_;
  std::shared_ptr<Background::Errand> errand_;  // takes the next step

  // Of the background alone, or of who has stopped it.
  std::vector<TrialRecord> records_;
  double best_total_ = std::numeric_limits<double>::infinity();
  bool left_out_ = false;  // a candidate, by a limit that other tunings may not have, or for want of memory
  bool recorded_ = false;
  Budget budget_;               // with mutex_ held too
  Clock::time_point charged_;   // until then, the step in hand
  double verification_ = 0;     // of a candidate, in its own products
  double conversion_miss_ = 1;  // what the last conversion took over what was expected of it

  // Of the update in hand, with room for all runners: to change over to new values takes no memory.
  std::vector<Runner*> updating_;

  mutable std::mutex mutex_;  // held for moments only; guards everything below
  std::condition_variable changed_;
  std::shared_ptr<Verifier<T>> verifier_;  // nullptr where the values have changed
  std::vector<std::unique_ptr<Runner>> runners_;
  Runner* best_ = nullptr;
  Runner* riding_ = nullptr;
  std::array<Ride, warm_up_rides + timed_rides> rides_;
  std::array<Followed, most_streams> followed_;
  std::array<End, most_ends> ends_;
  Measurement failure_;                       // of the last one that rode, where it failed
  std::array<double, timed_rides> lately_{};  // seconds of the last products that used the best, on the host
  std::size_t lately_count_ = 0;
  bool still_plain_ = true;             // the best is the first
  std::int64_t unaccounted_ = 0;        // products that used the best, since account()
  std::int64_t due_in_ = Budget::most;  // products from now; the next step may then be paid for
  bool waiting_ = false;                // for rides
  bool running_ = false;                // a thread is between two steps
  bool stopping_ = false;
  bool ended_ = false;       // nothing will run any more
  bool other_kind_ = false;  // the values are of another kind than task_.key says

  std::atomic<bool> due_ = false;  // the next step, on the host
  std::atomic<const LiveOperator<T>*> settled_ = nullptr;
};

extern template class Online<float>;
extern template class Online<double>;

}  // namespace autospmv
