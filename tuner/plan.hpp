// A built winner, ready to apply.
#pragma once

#include <memory>

#include "core/matrix.hpp"
#include "core/trial.hpp"
#include "formats/format.hpp"

namespace autospmv {

/// Attached to the matrix it was made for. Letting go of it waits for products that still run.
template <class T>
class Plan final : public Attachment<T> {
 public:
  Plan(TrialRecord choice, std::unique_ptr<Operator<T>> op, Place place);
  ~Plan() override;

  /// y = alpha A x + beta y on vectors in the memory of place(). Allocates nothing and waits for nothing.
  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const { operator_->apply(alpha, x, beta, y, stream); }

  void values_changed(const CsrView<T>& matrix, Stream stream) override;
  [[nodiscard]] Place place() const override { return place_; }

  /// The candidate and what is known of it; no measurement where it was chosen without one.
  [[nodiscard]] const TrialRecord& choice() const { return choice_; }
  [[nodiscard]] std::int64_t bytes() const { return operator_->bytes(); }

 private:
  TrialRecord choice_;
  std::unique_ptr<Operator<T>> operator_;
  Place place_;
};

extern template class Plan<float>;
extern template class Plan<double>;

}  // namespace autospmv
