// Tuning on the caller's own products: Effort::online.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/matrix/matrix_data.hpp"
#include "core/trial.hpp"
#include "features/features.hpp"
#include "formats/format.hpp"
#include "tuner/context/background.hpp"
#include "tuner/context/service.hpp"
#include "tuner/measure/clock.hpp"
#include "tuner/online/budget.hpp"
#include "tuner/online/operators.hpp"
#include "tuner/online/step_prices.hpp"
#include "tuner/online/steps.hpp"
#include "tuner/online/trial_builder.hpp"
#include "tuner/search/candidates.hpp"
#include "tuner/search/search.hpp"

namespace autospmv {

/// What an online tuning starts from.
template <class T>
struct OnlineTask {
  std::shared_ptr<const MatrixData<T>> matrix;
  Limits limits;
  TrialKey key = {};                     ///< without a pattern: found out when that may be paid for
  MatrixRecord described;                ///< without features where they were not extracted
  std::vector<Prospect> prospects = {};  ///< empty: made from the features, likewise
  std::vector<FormatChoice> only = {};   ///< what is tried; all where empty
  double setup_seconds = 0;              ///< of the operator that there is
  FormatLookup<T> formats = find_format<T>;
  std::string catalogue;  ///< format_catalogue()
};

/// The operator of a plan while it may still change. It begins with plain CSR, whose first products are timed: what
/// they take is what everything else is weighed against, or on the host what a plain loop takes where that is slower.
/// Then, step by step: what the database knows of this matrix, else its features, what they predict, and the candidates
/// that promise to pay, one after another. Each is built and verified; the next products then use it instead of the
/// best so far and are timed, on a device by events that nobody waits for. The median decides which of the two stays.
/// At the end the trials are in the database, the losers are freed, and a product is a product.
///
/// Each step is taken when the products so far have earned what it is expected to take of the caller (Budget). On a
/// device the steps run in the background, on the setup stream; products never wait for them, but share the device with
/// them: by how much that slows them down is measured meanwhile, and is what a step takes. A caller who awaits no
/// product is kept near the device as long as steps run, which then has work for some 200 us: what he orders ahead
/// could be by no faster one. On the host, where a thread in the background would take the processors that the products
/// run on, steps run in slices within the caller's own calls. While the search waits it holds no thread, so that one is
/// enough for any number of matrices; where there is none, the first operator of a device stays.
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

  /// Starts the search, once this is shared: after the first product, which is not to wait for any of it. `multiplied`
  /// is the stream of a product by `first` that came before, on a device.
  void begin(std::optional<Stream> multiplied = {});

  /// Ends it, at the latest with the candidate that is being built, and keeps in the database what was measured. The
  /// best so far stays. Nobody may hold the values of the matrix meanwhile.
  void stop() override;

  /// As Operators::apply; safe from many threads and streams at once.
  void apply(T alpha, const T* x, T beta, T* y, Stream stream);
  /// As Operators::await_device.
  void await_device(Stream stream) { operators_.await_device(stream); }

  /// As in ValuesObserver.
  [[nodiscard]] bool takes_any_values() const { return operators_.takes_any_values(); }
  void drain() { operators_.drain(); }
  void prepare(const CsrView<T>& next, Stream stream) { operators_.prepare(next, stream); }
  void abandon(const CsrView<T>& former, Stream stream) { operators_.abandon(former, stream); }
  void commit(const CsrView<T>& next, Stream stream);

  /// The best so far.
  [[nodiscard]] TrialRecord choice() const { return operators_.choice(); }
  [[nodiscard]] std::int64_t bytes() const { return operators_.bytes(); }
  /// What the search has taken of the caller so far.
  [[nodiscard]] double tuning_seconds() const {
    const std::scoped_lock lock(mutex_);
    return budget_.spent();
  }

  /// Whether it is the best for good.
  [[nodiscard]] bool settled() const { return operators_.settled(); }

 private:
  // How long the tuning waits for the next product of a stream whose last one used a loser.
  static constexpr std::chrono::milliseconds most_wait{100};
  // A candidate that is this much slower than the best when it is verified is given no products to be timed by.
  static constexpr double drop_factor = 4;

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
  // Gives it back until enough products were timed.
  struct CallsDone {
    Online& online;

    static bool await_ready() noexcept { return false; }
    bool await_suspend(std::coroutine_handle<>) const { return online.operators_.awaits_calls(); }
    static void await_resume() noexcept {}
  };

  Steps work();
  void post(std::chrono::milliseconds delay = {});
  void resume();
  [[nodiscard]] bool on_host() const { return place_.backend == Backend::host; }
  [[nodiscard]] bool is_over() const {
    if (operators_.has_other_values()) return true;
    const std::scoped_lock lock(mutex_);
    return stopping_;
  }

  // ---- What it takes
  /// What a product takes by the operator that it began with.
  void set_plain(double seconds) {
    plain_seconds_ = seconds;
    budget_.set_plain(loop_over_plain_ * seconds);
  }
  /// How many times as long it would take by a plain loop, which is what the promise is held against.
  void time_plain_loop();
  /// Between the two, a step is charged for, and its slowing products down is watched.
  void begin_work();
  void end_work();
  /// Spends what the step in hand has taken of the caller since it was last charged.
  void charge();
  /// What products have earned since it was last asked.
  void earn() {
    const auto products = operators_.take_products();
    if (operators_.best().record.measurement.warm.samples > 0) budget_.earn(products, operators_.best_seconds());
  }
  /// Whether so much may be spent now. If not, the next step is due when it may.
  [[nodiscard]] bool affords(double seconds);
  /// What a piece of work is expected to take of the caller.
  [[nodiscard]] double price(StepCost cost) const { return prices_.of(cost, plain_seconds_); }
  /// Seconds that it takes to predict all candidates.
  [[nodiscard]] double expected_prediction() const;
  [[nodiscard]] double price_of_trial(const Prospect& prospect) const {
    const auto& prediction = prospect.prediction;
    return prices_.of_trial(prediction.setup_seconds, prediction.seconds, verification_, plain_seconds_,
                            operators_.best_seconds());
  }
  /// Seconds of a product that is so many times slower than the best; infinite before that is measured.
  [[nodiscard]] double times_the_best(double factor) const {
    const auto& best = operators_.best().record.measurement.warm;
    return best.samples > 0 ? factor * best.median : std::numeric_limits<double>::infinity();
  }

  // ---- What is known
  struct Known {
    std::optional<TrialRecord> winner = {};
    bool complete = false;  ///< all that this effort tries was tried before
    bool nothing = false;   ///< nor of its pattern
  };
  /// The key, and what the database knows under it.
  [[nodiscard]] Known look_up();
  /// Whether products take so much longer than is known that it was not them who were measured.
  [[nodiscard]] bool is_doubtful(const Contender<T>& contender, const Measurement& known) const;
  [[nodiscard]] bool same_kind(const CsrView<T>& matrix, Stream stream) const;
  void extract();
  void predict();
  bool predict_anew();

  // ---- Trials
  void verify_first(const std::function<void()>& meanwhile);
  /// What is to be timed, or nullptr where `trial` says why not.
  [[nodiscard]] Contender<T>* make_contender(const Prospect& prospect, Measurement& trial, Verification verification);
  [[nodiscard]] std::string limit_that_forbids(const Prospect& prospect, double bytes);
  void time_best_anew();
  void end_trial(Contender<T>& contender);
  void judge(Contender<T>& contender);
  /// Whether it is the best so far; then products use it.
  bool adopt_if_best(Contender<T>& contender);
  void record(bool all_tried);
  void settle();

  std::shared_ptr<Service> service_;   // of the background alone, and let go of at the end
  std::shared_ptr<const void> works_;  // likewise
  Device device_;
  Place place_;
  OnlineTask<T> task_;
  Steps steps_;
  std::shared_ptr<Background::Errand> errand_;  // takes the next step
  Operators<T> operators_;
  TrialBuilder<T> builder_;

  // Of the background alone, or of who has stopped it.
  std::optional<Features> features_;  // of the matrix, as long as they are predicted from
  bool may_know_more_ = false;        // the context, of near matrices
  std::vector<TrialRecord> records_;
  bool best_passes_ = true;  // as far as is known
  bool still_plain_ = true;  // the best is the first
  bool left_out_ = false;    // a candidate, by a limit that other tunings may not have, or for want of memory
  bool recorded_ = false;
  StepPrices prices_;
  Budget budget_;               // what it has spent: with mutex_ held too
  double plain_seconds_ = 0;    // of a product by the first operator
  double loop_over_plain_ = 1;  // at least
  Clock::time_point charged_;   // until then, the step in hand
  double verification_ = 0;     // seconds that plain CSR's took

  // Never held while operators_ are asked, which ask for it.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool running_ = false;  // a thread is between two steps
  bool stopping_ = false;
  bool ended_ = false;  // nothing will run any more

  std::atomic<bool> due_ = false;  // a step is, after the next product: on the host
};

extern template class Online<float>;
extern template class Online<double>;

}  // namespace autospmv
