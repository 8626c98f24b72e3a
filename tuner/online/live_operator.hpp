// An operator whose values may change while products run.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"
#include "core/uncopied.hpp"
#include "formats/format.hpp"
#include "tuner/search/candidates.hpp"

namespace autospmv {

/// On the host there are two versions, of which products read one and count themselves while they do; an update fills
/// the other when nobody reads it any more, and then changes them over. So a product waits for nothing and sees one set
/// of values; the price is storage for two, from the first update on.
///
/// On a device there is one, which takes new values in place, in the order of the update's stream, for what a captured
/// graph reads must keep its address. Where they do not fit it, another operator takes its place for later products; it
/// stays, since nobody knows when the last product that was given to a stream before has run.
///
/// Updates come one at a time, in the steps of ValuesObserver; products from any thread.
template <class T>
class LiveOperator {
 public:
  struct Rebuilt {
    std::unique_ptr<Operator<T>> op;
    bool same = true;  ///< the same candidate as before
  };
  /// Makes an operator from a matrix of the same pattern, whatever its values are.
  using Rebuild = std::function<Rebuilt(const CsrView<T>&)>;

  LiveOperator(std::unique_ptr<Operator<T>> op, Place place, Rebuild rebuild);

  /// As Operator::apply.
  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const {
    if (place_.backend == Backend::host) {
      const Reading reading(*this);
      reading->apply(alpha, x, beta, y, stream);
    } else {
      const auto* op = on_device_.load(std::memory_order_acquire);
      if (!op->takes_any_values()) note_capture(stream);
      op->apply(alpha, x, beta, y, stream);
    }
  }

  [[nodiscard]] bool takes_any_values() const;
  void drain() const;
  void prepare(const CsrView<T>& next, Stream stream);
  void abandon(const CsrView<T>& former, Stream stream);
  void commit(const CsrView<T>& next, Stream stream);

  /// What products use now. Valid while nobody updates the values.
  [[nodiscard]] const Operator<T>& current() const {
    if (place_.backend == Backend::host) return *versions_[static_cast<std::size_t>(active_.load())].op;
    return *on_device_.load(std::memory_order_acquire);
  }

  /// Whether new values did not fit the operator that it began with.
  [[nodiscard]] bool moved() const { return moved_.load(std::memory_order_relaxed); }

  /// What the operator of later products has allocated.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  // Apart from each other: threads that count themselves in one do not disturb the other.
  struct alignas(64) Version {
    std::unique_ptr<Operator<T>> op;
    std::atomic<std::int64_t> readers = 0;
  };

  // A product that is reading a version, which nobody overwrites meanwhile.
  class Reading : Uncopied {
   public:
    explicit Reading(const LiveOperator& live) {
      for (;;) {
        const int at = live.active_.load();
        version_ = &live.versions_[static_cast<std::size_t>(at)];
        version_->readers.fetch_add(1);
        if (live.active_.load() == at) break;
        // An update came between. It may have found nobody here, and be writing now.
        version_->readers.fetch_sub(1);
      }
    }
    ~Reading() { version_->readers.fetch_sub(1); }

    const Operator<T>* operator->() const { return version_->op.get(); }

   private:
    Version* version_ = nullptr;
  };

  void note_capture(Stream stream) const;
  [[nodiscard]] Version& inactive() const { return versions_[static_cast<std::size_t>(1 - active_.load())]; }

  Place place_;
  Rebuild rebuild_;
  std::atomic<bool> moved_ = false;

  Rebuilt next_;  // without an operator where the next values fit the one that there is

  // Host.
  mutable std::array<Version, 2> versions_;
  std::atomic<int> active_ = 0;

  // Device.
  std::vector<std::unique_ptr<Operator<T>>> operators_;  // the last one is in use
  std::atomic<Operator<T>*> on_device_ = nullptr;
  mutable std::atomic<bool> captured_ = false;
};

/// How an operator of this candidate follows values that it does not take: as the same candidate if it can, else with
/// parameters that take any values, else as plain CSR.
template <class T>
typename LiveOperator<T>::Rebuild rebuilding(const Candidate& candidate, const Device& device,
                                             const FormatLookup<T>& formats);

extern template class LiveOperator<float>;
extern template class LiveOperator<double>;

}  // namespace autospmv
