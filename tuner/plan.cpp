#include "tuner/plan.hpp"

#include <utility>

#include "core/error.hpp"

namespace autospmv {

template <class T>
Plan<T>::Plan(TrialRecord choice, std::unique_ptr<Operator<T>> op, Place place)
    : choice_(std::move(choice)), operator_(std::move(op)), place_(place) {}

template <class T>
Plan<T>::~Plan() {
  if (online_) online_->stop();
  try {
    synchronize(place_);
  } catch (const Error&) {
    // The device failed, so nothing runs on it any more.
  }
}

template <class T>
void Plan<T>::values_changed(const CsrView<T>& matrix, Stream stream) {
  if (online_) {
    online_->values_changed(matrix, stream);
  } else {
    operator_->update_values(matrix, stream);
  }
}

template <class T>
void Plan<T>::go_online(const Context& context, OnlineTask<T> task) {
  online_ = std::make_unique<Online<T>>(context, std::move(task), choice_, std::move(operator_));
}

template <class T>
std::unique_lock<std::mutex> Plan<T>::hold_values() {
  return online_ ? online_->hold_values() : std::unique_lock<std::mutex>();
}

template class Plan<float>;
template class Plan<double>;

}  // namespace autospmv
