#include "tuner/plan.hpp"

#include <utility>

#include "core/error.hpp"

namespace autospmv {

template <class T>
Plan<T>::Plan(TrialRecord choice, std::unique_ptr<Operator<T>> op, Place place)
    : choice_(std::move(choice)), operator_(std::move(op)), place_(place) {}

template <class T>
Plan<T>::~Plan() {
  try {
    synchronize(place_);
  } catch (const Error&) {
    // The device failed, so nothing runs on it any more.
  }
}

template <class T>
void Plan<T>::values_changed(const CsrView<T>& matrix, Stream stream) {
  operator_->update_values(matrix, stream);
}

template class Plan<float>;
template class Plan<double>;

}  // namespace autospmv
