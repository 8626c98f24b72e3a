// New values for every copy of a matrix, and for who follows them: all or none.
#include <algorithm>
#include <list>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/matrix/transpose.hpp"

namespace autospmv {

// One update of one copy of the matrix, or of a transposed one, and of who follows it.
template <class T>
class MatrixData<T>::Update {
 public:
  Update(Arrays& arrays, Place place, bool borrowed, const Observers& all, std::span<const T> values, Stream stream)
      : arrays_(arrays), place_(place), borrowed_(borrowed), stream_(stream), next_(arrays.view), values_(values) {
    for (const auto& observer : all) {
      if (observer->place() == place) observers_.push_back(observer.get());
    }
  }

  /// Of a transposed matrix, after that of the copy which it was made of.
  Update(MatrixData& transposed, Update& original, const Observers& all)
      : Update(transposed.arrays_, transposed.home_, false, all, original.values_, original.stream_) {
    original_ = &original;
    source_ = &transposed.source_;
  }

  [[nodiscard]] Place place() const { return place_; }

  void prepare() {
    const DeviceScope scope(place_);
    if (place_.backend == Backend::host) {
      prepare_host();
    } else {
      prepare_device();
    }
  }

  void abandon() {
    const DeviceScope scope(place_);
    while (prepared_ > 0) observers_[--prepared_]->abandon(arrays_.view, stream_);
    if (!staged_.empty()) synchronize(place_, stream_);
  }

  void commit() {
    const DeviceScope scope(place_);
    if (place_.backend == Backend::host) {
      if (!borrowed_) std::swap(arrays_.values, arrays_.spare_values);
      arrays_.view.values = next_.values;  // products ask for the sizes meanwhile
    } else if (!staged_.empty()) {
      arrays_.values.assign(staged_.span(), stream_);
    } else if (!borrowed_) {
      take(arrays_.values);
    }
    for (auto* observer : observers_) observer->commit(arrays_.view, stream_);
    if (place_.backend == Backend::host) {
      // The caller may do away with the array that was borrowed before.
      if (borrowed_) drain();
    } else if (!staged_.empty()) {
      synchronize(place_, stream_);
    } else if (!is_capturing(place_, stream_)) {
      // What this library does with the values by itself.
      order_after(place_, setup_stream(place_), stream_);
    }
  }

 private:
  void drain() {
    for (auto* observer : observers_) observer->drain();
  }

  // The new values: the caller's, or, transposed, those that the original has at this place: where it staged none on a
  // device, they are in its own array once it is committed.
  void take(Array<T>& to) {
    if (original_ == nullptr) return to.assign(values_, stream_);
    permute(original_->next_.values, *source_, to.data(), place_, stream_);
  }

  void prepare_host() {
    drain();
    if (borrowed_) {
      next_.values = values_.data();
    } else {
      auto& spare = arrays_.spare_values;
      if (spare.size() != values_.size()) spare = Array<T>(values_.size(), place_);
      take(spare);
      next_.values = spare.data();
    }
    for (auto* observer : observers_) {
      ++prepared_;
      observer->prepare(next_, stream_);
    }
  }

  // On a device: the new values beside the old ones.
  void stage() {
    if (borrowed_ || !staged_.empty()) return;
    if (original_ != nullptr) original_->stage();
    staged_ = Array<T>(values_.size(), place_);
    order_after(place_, stream_, setup_stream(place_));
    take(staged_);
    next_.values = staged_.data();
  }

  // Whoever may find that the new values do not fit sees them before the old ones are overwritten.
  void prepare_device() {
    if (borrowed_ && values_.data() != arrays_.view.values) {
      throw InvalidArgument("update_values: on a device, a borrowing matrix takes values in the array that it borrows");
    }
    std::stable_partition(observers_.begin(), observers_.end(),
                          [](const auto* observer) { return !observer->takes_any_values(); });
    if (observers_.empty() || observers_.front()->takes_any_values()) return;
    if (is_capturing(place_, stream_)) {
      throw InvalidArgument("update_values: " + std::string("values that a plan stores in fewer bits cannot be ") +
                            "replaced in a stream that is being captured");
    }
    stage();
    for (auto* observer : observers_) {
      if (observer->takes_any_values()) break;
      ++prepared_;
      observer->prepare(next_, stream_);
    }
  }

  Arrays& arrays_;
  Place place_;
  bool borrowed_;
  Stream stream_;
  CsrView<T> next_;
  std::span<const T> values_;
  Update* original_ = nullptr;                    // of a transposed matrix
  const Array<std::uint32_t>* source_ = nullptr;  // likewise
  Array<T> staged_;
  std::vector<ValuesObserver<T>*> observers_;
  std::size_t prepared_ = 0;
};

// A transposed matrix that is being updated by the one that it was made of: its values and copies are held.
template <class T>
struct MatrixData<T>::TransposedUpdate {
  explicit TransposedUpdate(std::shared_ptr<MatrixData> transposed)
      : matrix(std::move(transposed)), alone(matrix->updating_) {
    observers = matrix->living_observers();
  }

  std::shared_ptr<MatrixData> matrix;
  Observers observers;
  std::unique_lock<std::shared_mutex> alone;  // let go of first
};

template <class T>
void MatrixData<T>::update_values(std::span<const T> values, Stream stream) {
  if (static_cast<std::int64_t>(values.size()) != nnz()) {
    throw InvalidArgument("update_values: " + std::to_string(values.size()) + " values for " + std::to_string(nnz()) +
                          " nonzeros");
  }
  if (values.empty()) return;
  const bool borrowed = ownership_ == Ownership::borrow;
  if (borrowed && place_of(values.data()) != home_) {
    throw InvalidArgument("update_values: a borrowing matrix takes values in the memory of its other arrays only");
  }
  // Let go of without the locks: the last one of a plan waits for who may be waiting for it.
  Observers observers;
  std::list<TransposedUpdate> transposed;
  const std::scoped_lock alone(updating_);
  observers = living_observers();
  for (auto& one : living_transposed()) transposed.emplace_back(std::move(one));
  const std::scoped_lock lock(mutex_);
  std::list<Update> updates;
  const auto add = [&](Arrays& arrays, Place place, bool borrows) {
    updates.emplace_back(arrays, place, borrows, observers, values, stream);
  };
  add(arrays_, home_, borrowed);
  for (auto& [ordinal, copy] : on_cuda_) add(copy, Place{Backend::cuda, ordinal}, false);
  if (on_host_) add(*on_host_, Place{}, false);
  for (auto& one : transposed) {
    const auto original = std::find_if(updates.begin(), updates.end(),
                                       [&](const Update& update) { return update.place() == one.matrix->home(); });
    updates.emplace_back(*one.matrix, *original, one.observers);
  }
  try {
    for (auto& update : updates) update.prepare();
  } catch (...) {
    for (auto& update : updates) update.abandon();
    throw;
  }
  for (auto& update : updates) update.commit();
}

template void MatrixData<float>::update_values(std::span<const float>, Stream);
template void MatrixData<double>::update_values(std::span<const double>, Stream);

}  // namespace autospmv
