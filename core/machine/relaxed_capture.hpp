// Work of this library's own beside captures of the caller's.
#pragma once

#include "core/machine/device.hpp"
#include "core/uncopied.hpp"

namespace autospmv {

/// While it lives, the calling thread may do what captures of other threads forbid, such as to ask for memory.
class RelaxedCapture : Uncopied {
 public:
  explicit RelaxedCapture(Place place);
  ~RelaxedCapture();

 private:
  int previous_ = -1;
};

}  // namespace autospmv
