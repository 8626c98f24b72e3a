#include "formats/lanes/multiply.cuh"

namespace autospmv::formats::cuda_steps {

template void multiply(const WarpEll<float>&, float, const float*, float, float*, Stream);

}  // namespace autospmv::formats::cuda_steps
