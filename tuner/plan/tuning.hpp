// One tuning of one matrix, from what is known of it to its plan.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "tuner/plan/recorded_session.hpp"
#include "tuner/plan/tuner.hpp"
#include "tuner/search/search.hpp"

namespace autospmv {

/// One tuning of one matrix: what its steps share.
template <class T>
class Tuning {
 public:
  /// The values stay held as long as this lives.
  Tuning(std::shared_ptr<const MatrixData<T>> matrix, std::shared_ptr<Service> service, const TuneOptions& options,
         std::vector<FormatChoice> only)
      : matrix_(std::move(matrix)),
        shared_service_(std::move(service)),
        service_(*shared_service_),
        options_(options),
        only_(std::move(only)),
        effort_(options.effort.value_or(service_.effort())),
        limits_(options.limits.value_or(service_.limits())),
        choices_(choices_of(effort_, service_.device().backend, limits_)),
        values_(matrix_->hold_values()),
        view_(matrix_->on(service_.device())),
        trials_(service_, view_, limits_, options.stop) {}

  /// `first`, as plan_for() has it; may be nullptr.
  Tuned<T> tune(FirstProduct<T>* first);

 private:
  enum class Bounds : std::uint8_t { none, limits };

  void find_key();
  /// Asks the database for the winner, and makes trials where it knows too little.
  void find_winner();
  /// Runs a step. Where memory or threads run out in it, what is known so far must do; false.
  template <class Step>
  bool manages(const Step& step);
  void warn_once(const char* shortage);
  [[nodiscard]] bool all_were_tried() const;
  void report();
  void try_candidates();
  /// Tries what the search names; whether it came to its end, and no trial was given up.
  bool run_trials(Search& search);
  bool try_all(Search& search);
  /// That a candidate was disturbed which may be cheaper than the winner.
  [[nodiscard]] bool is_undecided() const;
  [[nodiscard]] std::vector<TrialRecord> known_trials() const;
  [[nodiscard]] std::optional<TrialRecord> best_known() const;
  /// Whether trials of others say anything: plain CSR was tried beside them.
  [[nodiscard]] bool knows_baseline() const;
  /// Tries all again where the plan that the database names is far from what its trial took.
  void doubt();
  [[nodiscard]] bool is_doubtful() const;
  void recheck();
  void choose();
  /// False where it cannot be built. What it takes then, and whether it is deterministic, is known and no longer taken
  /// on anybody's word: with Bounds::limits, it is also false beyond these.
  void note_layer(std::size_t layer);
  bool plan_from(TrialRecord choice, const char* source, Bounds bounds);
  [[nodiscard]] Result<std::unique_ptr<Operator<T>>> build_operator(const Candidate& candidate);
  void plan_with(std::unique_ptr<Operator<T>> op, TrialRecord choice, const char* source);
  bool plan_estimate();
  void plan_fallback();
  void plan_plain_csr();
  /// The plan for an effort whose first product costs no more than one by plain CSR: all else comes later.
  Tuned<T> begin_online(FirstProduct<T>* first);
  [[nodiscard]] const std::vector<Prospect>& prospects();
  [[nodiscard]] bool tries() const;
  [[nodiscard]] bool is_baseline(const TrialRecord& record) const;
  [[nodiscard]] MatrixRecord describe() const;

  std::shared_ptr<const MatrixData<T>> matrix_;
  std::shared_ptr<Service> shared_service_;
  Service& service_;
  const TuneOptions& options_;
  std::vector<FormatChoice> only_;  // the candidates; all where empty
  Effort effort_;
  Limits limits_;
  Choices choices_;  // to predict
  std::shared_lock<std::shared_mutex> values_;
  CsrView<T> view_;
  TrialKey key_;
  std::vector<Prospect> prospects_;
  RecordedSession<T> trials_;
  std::optional<TrialRecord> winner_;
  bool doubts_ = false;  ///< what the database says of this matrix
  bool has_warned_ = false;
  Tuned<T> result_;
};

extern template class Tuning<float>;
extern template class Tuning<double>;

}  // namespace autospmv
