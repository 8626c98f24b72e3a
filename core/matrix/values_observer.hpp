// What is made from the values of a matrix, and follows when they change.
#pragma once

#include "autospmv/stream.hpp"
#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"
#include "core/uncopied.hpp"

namespace autospmv {

/// Told of every update in steps, so that one that fails leaves the old values everywhere: prepare() of all observers,
/// then commit() of all of them; or abandon(), where one of them threw. Updates come one at a time.
template <class T>
class ValuesObserver : Uncopied {
 public:
  virtual ~ValuesObserver() = default;

  /// Where its products run, and the matrix lies that it is told of.
  [[nodiscard]] virtual Place place() const = 0;

  /// Whether it takes all values there are. Only an observer on a device that does not is asked to prepare().
  [[nodiscard]] virtual bool takes_any_values() const = 0;

  /// Host: waits until no product reads values that were replaced before. Nothing on a device.
  virtual void drain() = 0;

  /// Host: takes the new values where no product sees them yet. Device: takes them in the order of the stream, from
  /// arrays that go after the update. May throw; abandon() follows, and gives the former values back.
  virtual void prepare(const CsrView<T>& next, Stream stream) = 0;
  virtual void abandon(const CsrView<T>& former, Stream stream) = 0;

  /// From now on products multiply by the new values. Throws DeviceError at most.
  virtual void commit(const CsrView<T>& next, Stream stream) = 0;
};

}  // namespace autospmv
