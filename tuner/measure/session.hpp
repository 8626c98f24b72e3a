// Trials of one matrix on one device: build, verify, time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/trial.hpp"
#include "formats/format.hpp"
#include "tuner/measure/meter.hpp"
#include "tuner/measure/rounds.hpp"
#include "tuner/measure/stop.hpp"
#include "tuner/measure/verifier.hpp"
#include "tuner/objective.hpp"
#include "tuner/search/candidates.hpp"

namespace autospmv {

/// How long to measure, and whom.
struct SessionRules {
  double cut_factor = 1.3;          ///< candidates this much slower than the best are dropped after a first look
  double baseline_cut_factor = 10;  ///< the same for baselines
  double glance_factor = 10;        ///< this much slower than the best: a single product tells enough
  int first_look_samples = 3;
  int min_rounds = 5;
  int max_rounds = 25;
  int final_rounds = 6;           ///< more of those that may win after all
  double doubt_of_rounds = 1.05;  ///< how much slower than the best these may be
  /// Of the same: what only the first one of its kind takes is not the format's, nor is what its products gain or lose
  /// by where in memory it happens to lie, up to a tenth on a host.
  int conversions = 3;
  int conversion_samples = 3;  ///< of each further one of them
  double resolution = 0.01;    ///< rounds end when the noise is this share of the median
  int cold_samples = 3;        ///< of those that were not dropped
  int loop_samples = 3;        ///< likewise; enough for a median, and no candidate is chosen by it
  SampleLength sample = long_sample;
  std::optional<SampleLength> round_sample = {};  ///< in rounds; nothing: the same
  /// In the final rounds, which then count alone; nothing: as before, and all rounds count.
  std::optional<SampleLength> final_sample = {};
  double expected_calls = 1000;  ///< as in Limits: what a conversion has to pay for itself
};

/// Tunes on a short list, in the time of a few hundred products: warm only.
inline constexpr SessionRules short_list_rules{.cut_factor = 1.1,
                                               .baseline_cut_factor = 1.1,
                                               .first_look_samples = 2,
                                               .min_rounds = 3,
                                               .max_rounds = 8,
                                               .final_rounds = 2,
                                               .conversions = 1,
                                               .cold_samples = 0,
                                               .loop_samples = 0,
                                               .sample = short_sample};
/// The same on the host. A look at three products says which candidates are not much slower than the best: branches
/// and caches are learned over tens of them, which only those are given that are left.
inline constexpr SessionRules host_short_list_rules{.cut_factor = 1.35,
                                                    .baseline_cut_factor = 1.35,
                                                    .first_look_samples = 1,
                                                    .min_rounds = 0,
                                                    .max_rounds = 1,
                                                    .final_rounds = 0,
                                                    .conversions = 1,
                                                    .resolution = 0.02,
                                                    .cold_samples = 0,
                                                    .loop_samples = 0,
                                                    .sample = short_sample,
                                                    .round_sample = medium_sample};
/// Tunes on a short list for many calls, warm only. What is a few percent off is told from the best, and where its
/// arrays happen to lie in memory decides nothing.
inline constexpr SessionRules many_calls_rules{.max_rounds = 10,
                                               .doubt_of_rounds = 1.25,
                                               .conversion_samples = 2,
                                               .cold_samples = 0,
                                               .loop_samples = 0,
                                               .sample = medium_sample,
                                               .round_sample = repeated_sample,
                                               .final_sample = settled_sample};
inline const SessionRules& rules_of_short_list(Backend backend, const Limits& limits) {
  if (expects_many_calls(limits)) return many_calls_rules;
  return backend == Backend::host ? host_short_list_rules : short_list_rules;
}

/// Tunes with every candidate: only the best matter.
inline constexpr SessionRules tuning_rules{};
/// Benchmarks: every candidate is measured to the end.
inline constexpr SessionRules bench_rules{
    .cut_factor = 1e30, .glance_factor = 1e30, .max_rounds = 12, .final_rounds = 0, .cold_samples = 7};

/// The same for warm times alone, where many matrices are to be got through.
inline constexpr SessionRules warm_bench_rules{.cut_factor = 1e30,
                                               .glance_factor = 10,
                                               .first_look_samples = 2,
                                               .min_rounds = 3,
                                               .max_rounds = 5,
                                               .final_rounds = 0,
                                               .cold_samples = 0,
                                               .loop_samples = 0};

/// Who looks on.
struct SessionWatch {
  std::function<void()> launched = {};  ///< called when a candidate was launched and its product verified
  Stop stop = {};                       ///< where it says so, the trial in hand is given up
};

template <class T>
class Session {
 public:
  /// Draws x and computes the reference product. The matrix lies in the device's memory and outlives the session.
  Session(const CsrView<T>& matrix, const Device& device, const SessionRules& rules, std::uint64_t seed,
          FormatLookup<T> formats = find_format<T>, SessionWatch watch = {});
  ~Session();

  /// Builds the candidate, verifies it against the reference, takes a first look at its time and keeps it if it can
  /// still win; gives it up where memory runs out in that. Throws DeviceError only where the device no longer answers,
  /// what says that memory ran out only where there is none for the words of a trial, and Interrupted, without a trace
  /// of this trial.
  TrialRecord attempt(const Prospect& prospect);

  /// Times the kept candidates in interleaved rounds until the medians are precise, then from a plain loop and cold.
  /// Where memory runs out, what was measured so far counts. Throws Interrupted.
  void finish();

  /// Every trial so far, in the order of the attempts.
  [[nodiscard]] std::vector<TrialRecord> records() const;

  /// The built operator of a candidate that is still kept, or nullptr.
  std::unique_ptr<Operator<T>> take(const Candidate& candidate);

 private:
  struct Trial;

  /// Seconds of a product past which it is not worth a look.
  [[nodiscard]] double glance_limit() const;
  void first_look(Trial& trial);
  /// A product that took long, once: whether it does so when nothing disturbs it.
  void doubt_glance(Trial& trial);
  /// Once more, for the time that it takes; with samples, also for that of its products.
  void convert_again(Trial& trial, int samples);
  void convert_again_if_slow(Trial& trial, const Prospect& prospect);
  void note_best(const Trial& trial);
  [[nodiscard]] bool may_win(const Trial& trial) const;
  /// Of one that looks too slow: whether it is when it is timed right after the best.
  [[nodiscard]] bool is_slow_beside_best(Trial& trial);
  void drop_the_slow();
  /// Of the kept ones, those whose conversion and products may turn out to be the cheapest.
  [[nodiscard]] std::vector<Trial*> contenders() const;
  /// One sample of each in turn; whether their medians are precise.
  bool round(const std::vector<Trial*>& trials);
  [[nodiscard]] std::vector<Trial*> kept() const;
  void run_rounds();
  /// What first looks of these took over what rounds did.
  [[nodiscard]] double level_of_looks(const std::vector<Trial*>& trials) const;
  /// Takes what the rounds have shown for what the trials take.
  void even_out(const std::vector<Trial*>& trials);
  void time_otherwise();
  [[nodiscard]] Launch launch_of(const Operator<T>& product) const;
  /// Of this trial's candidate, be it by its own operator or another.
  [[nodiscard]] std::unique_ptr<TimedProduct> timed_product(const Trial& trial, const Operator<T>& product,
                                                            const SampleLength& length);

  CsrView<T> matrix_;
  Device device_;
  SessionRules rules_;
  FormatLookup<T> formats_;
  SessionWatch watch_;
  std::unique_ptr<Verifier<T>> verifier_;
  std::vector<std::unique_ptr<Trial>> trials_;
  double best_ = 0;            // seconds of the fastest verified candidate so far; 0 before the first
  double best_disturbed_ = 0;  // the same by estimates
  std::vector<Round> rounds_;
  Patience patience_;
  // The host's threads stay where they are from one trial to the next.
  std::optional<PinnedThreads> pinned_;
};

extern template class Session<float>;
extern template class Session<double>;

}  // namespace autospmv
