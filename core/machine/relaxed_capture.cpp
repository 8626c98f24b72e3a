#include "core/machine/relaxed_capture.hpp"

#include "core/cuda/runtime.hpp"

namespace autospmv {

RelaxedCapture::RelaxedCapture(Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) previous_ = cuda::relax_capture();
  }
}

RelaxedCapture::~RelaxedCapture() {
  if constexpr (built_with_cuda) cuda::restore_capture(previous_);
}

}  // namespace autospmv
