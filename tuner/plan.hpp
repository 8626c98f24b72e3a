// A built winner, ready to apply.
#pragma once

#include <memory>
#include <mutex>

#include "core/matrix.hpp"
#include "core/trial.hpp"
#include "formats/format.hpp"
#include "tuner/online.hpp"

namespace autospmv {

/// Attached to the matrix it was made for. Letting go of it waits for products that still run, and, while it is tuned
/// online, for the candidate that is being built.
template <class T>
class Plan final : public Attachment<T> {
 public:
  Plan(TrialRecord choice, std::unique_ptr<Operator<T>> op, Place place);
  ~Plan() override;

  /// y = alpha A x + beta y on vectors in the memory of place(). Allocates nothing and waits for nothing.
  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const {
    if (online_) {
      online_->apply(alpha, x, beta, y, stream);
    } else {
      operator_->apply(alpha, x, beta, y, stream);
    }
  }

  /// From now on its products try other candidates. Called once, before it is shared.
  void go_online(const Context& context, OnlineTask<T> task);
  /// Whether the choice is final.
  [[nodiscard]] bool settled() const { return !online_ || online_->settled(); }

  [[nodiscard]] std::unique_lock<std::mutex> hold_values() override;
  void values_changed(const CsrView<T>& matrix, Stream stream) override;
  [[nodiscard]] Place place() const override { return place_; }

  /// The candidate and what is known of it; no measurement where it was chosen without one. The best so far until
  /// settled.
  [[nodiscard]] TrialRecord choice() const { return online_ ? online_->choice() : choice_; }
  [[nodiscard]] std::int64_t bytes() const { return online_ ? online_->bytes() : operator_->bytes(); }

 private:
  TrialRecord choice_;
  std::unique_ptr<Operator<T>> operator_;  // nullptr where it may change
  std::unique_ptr<Online<T>> online_;
  Place place_;
};

extern template class Plan<float>;
extern template class Plan<double>;

}  // namespace autospmv
