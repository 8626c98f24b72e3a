// A built winner, and what its handles share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autospmv/plan.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/matrix/values_observer.hpp"
#include "core/trial.hpp"
#include "tuner/context/service.hpp"
#include "tuner/online/live_operator.hpp"
#include "tuner/online/online.hpp"

namespace autospmv {

/// How a plan was made: for who asks why it is what it is.
struct PlanOrigin {
  std::weak_ptr<Service> service;
  TrialKey key;  ///< without a pattern where it is tuned online
  Limits limits;
  std::string source;                   ///< "measured", "database", "estimated", "untried"
  std::vector<FormatChoice> only = {};  ///< what it was chosen among; all where empty
  std::string passed_over = {};         ///< as in Explanation
  double tuning_seconds = 0;            ///< until it was made
};

namespace detail {

/// Keeps the arrays of its matrix alive, which its operator may read. Letting go of it waits for products that still
/// run, and, while it is tuned online, for the candidate that is being built.
template <class T>
class PlanState final : public ValuesObserver<T> {
 public:
  PlanState(TrialRecord choice, std::unique_ptr<LiveOperator<T>> op, std::shared_ptr<const MatrixData<T>> matrix,
            Place place, PlanOrigin origin);
  ~PlanState() override;

  /// y = alpha A x + beta y on vectors in the memory of place(). Allocates nothing and waits for nothing.
  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const {
    if (online_) {
      online_->apply(alpha, x, beta, y, stream);
    } else {
      operator_->apply(alpha, x, beta, y, stream);
    }
  }

  /// As Plan::operator().
  void multiply(std::span<const T> x, std::span<T> y, const ApplyOptions<T>& options) const;

  /// The same on a device before it is shared, where nothing has to be staged and no graph keeps the product; else
  /// false, and nothing done.
  [[nodiscard]] bool multiply_first(std::span<const T> x, std::span<T> y, const ApplyOptions<T>& options) const;

  /// From now on its products try other candidates. Called once, before it is shared; `multiplied` is the stream of its
  /// first product, where there was one.
  void go_online(std::shared_ptr<Service> service, OnlineTask<T> task, std::optional<Stream> multiplied);
  /// Whether the choice is final.
  [[nodiscard]] bool settled() const { return !online_ || online_->settled(); }

  [[nodiscard]] Place place() const override { return place_; }
  [[nodiscard]] bool takes_any_values() const override;
  void drain() override;
  void prepare(const CsrView<T>& next, Stream stream) override;
  void abandon(const CsrView<T>& former, Stream stream) override;
  void commit(const CsrView<T>& next, Stream stream) override;

  /// The candidate and what is known of it; no measurement where it was chosen without one. The best so far until
  /// settled.
  [[nodiscard]] TrialRecord choice() const { return online_ ? online_->choice() : choice_; }
  [[nodiscard]] std::int64_t bytes() const { return online_ ? online_->bytes() : operator_->bytes(); }
  /// As in Explanation.
  [[nodiscard]] double tuning_seconds() const {
    return origin_.tuning_seconds + (online_ ? online_->tuning_seconds() : 0);
  }
  [[nodiscard]] const PlanOrigin& origin() const { return origin_; }
  [[nodiscard]] const std::shared_ptr<const MatrixData<T>>& matrix() const { return matrix_; }

 private:
  // Calls body(follower) with what follows the values.
  template <class Body>
  decltype(auto) with_follower(const Body& body) const {
    return online_ ? body(*online_) : body(*operator_);
  }
  [[nodiscard]] Memory memory_of(const char* name, const T* vector) const;
  // False, and nothing done, where the device has no memory for the vectors.
  bool multiply_staged(std::span<const T> x, std::span<T> y, const ApplyOptions<T>& options) const;

  std::shared_ptr<const MatrixData<T>> matrix_;
  TrialRecord choice_;
  std::unique_ptr<LiveOperator<T>> operator_;  // nullptr where it may change
  std::shared_ptr<Online<T>> online_;
  Place place_;
  PlanOrigin origin_;
};

extern template class PlanState<float>;
extern template class PlanState<double>;

}  // namespace detail
/// As Plan::explain(). Looks at the matrix, and into the database, where the context still lives.
template <class T>
Explanation explanation_of(const detail::PlanState<T>& plan);

}  // namespace autospmv
