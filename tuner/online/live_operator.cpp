#include "tuner/online/live_operator.hpp"

#include <thread>
#include <utility>

#include "core/error.hpp"
#include "features/longest_row.hpp"
#include "tuner/measure/conversion.hpp"

namespace autospmv {

template <class T>
LiveOperator<T>::LiveOperator(std::unique_ptr<Operator<T>> op, Place place, Rebuild rebuild)
    : place_(place), rebuild_(std::move(rebuild)) {
  if (place_.backend == Backend::host) {
    versions_[0].op = std::move(op);
  } else {
    on_device_ = op.get();
    operators_.push_back(std::move(op));
  }
}

template <class T>
bool LiveOperator<T>::takes_any_values() const {
  return place_.backend == Backend::host || on_device_.load(std::memory_order_acquire)->takes_any_values();
}

// Once a graph holds it, it cannot be replaced any more.
template <class T>
void LiveOperator<T>::note_capture(Stream stream) const {
  if (!captured_.load(std::memory_order_relaxed) && is_capturing(place_, stream)) captured_ = true;
}

// A product takes no longer than others do, so it is not worth a way of being told.
template <class T>
void LiveOperator<T>::drain() const {
  if (place_.backend != Backend::host) return;
  while (inactive().readers.load() > 0) std::this_thread::yield();
}

template <class T>
void LiveOperator<T>::prepare(const CsrView<T>& next, Stream stream) {
  next_ = {};
  if (place_.backend == Backend::host) {
    auto& op = inactive().op;
    if (op == nullptr || !op->update_values(next, stream)) next_ = rebuild_(next);
    return;
  }
  if (on_device_.load()->update_values(next, stream)) return;
  if (captured_) {
    throw InvalidArgument(
        "update_values: the new values do not fit the storage that a captured graph reads (in fewer bits, or one of "
        "two symmetric halves)");
  }
  order_after(place_, setup_stream(place_), stream);
  operators_.reserve(operators_.size() + 1);  // commit() takes no memory
  next_ = rebuild_(next);
}

template <class T>
void LiveOperator<T>::abandon(const CsrView<T>& former, Stream stream) {
  next_ = {};
  if (place_.backend == Backend::host) {
    // Whatever is in it now, the next update begins anew.
    inactive().op.reset();
  } else {
    (void)on_device_.load()->update_values(former, stream);
  }
}

template <class T>
void LiveOperator<T>::commit(const CsrView<T>& next, Stream stream) {
  if (next_.op != nullptr && !next_.same) moved_ = true;
  if (place_.backend == Backend::host) {
    if (next_.op != nullptr) inactive().op = std::move(next_.op);
    active_ = 1 - active_.load();
  } else if (next_.op != nullptr) {
    // It was made from values at another place.
    (void)next_.op->update_values(next, stream);
    operators_.push_back(std::move(next_.op));
    on_device_.store(operators_.back().get(), std::memory_order_release);
  } else if (takes_any_values()) {
    (void)on_device_.load()->update_values(next, stream);
  }
}

template <class T>
std::int64_t LiveOperator<T>::bytes() const {
  if (place_.backend == Backend::host) return Reading(*this)->bytes();
  return on_device_.load(std::memory_order_acquire)->bytes();
}

template <class T>
typename LiveOperator<T>::Rebuild rebuilding(const Candidate& candidate, const Device& device,
                                             const FormatLookup<T>& formats) {
  return [=](const CsrView<T>& matrix) -> typename LiveOperator<T>::Rebuilt {
    if (const auto* format = formats(candidate.format)) {
      if (auto same = format->build(matrix, candidate.params, device)) return {std::move(*same), true};
      auto widened = format->build(matrix, format->for_any_values(candidate.params), device);
      if (widened) return {std::move(*widened), false};
    }
    const auto longest = longest_row(matrix.row_ptr, matrix.rows, device);
    const auto plain = blind_fallback_prospect(matrix, longest, device, Limits{}).candidate;
    Measurement ignored;
    return {convert(matrix, plain, device, FormatLookup<T>(find_format<T>), ignored), false};
  };
}

template LiveOperator<float>::Rebuild rebuilding(const Candidate&, const Device&, const FormatLookup<float>&);
template LiveOperator<double>::Rebuild rebuilding(const Candidate&, const Device&, const FormatLookup<double>&);
template class LiveOperator<float>;
template class LiveOperator<double>;

}  // namespace autospmv
