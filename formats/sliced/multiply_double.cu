#include "formats/sliced/multiply.cuh"

namespace autospmv::formats::cuda_steps {

template void multiply(const SlicedMatrix<double>&, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats::cuda_steps
