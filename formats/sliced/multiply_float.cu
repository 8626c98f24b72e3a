#include "formats/sliced/multiply.cuh"

namespace autospmv::formats::cuda_steps {

template void multiply(const SlicedMatrix<float>&, float, const float*, float, float*, Stream);

}  // namespace autospmv::formats::cuda_steps
