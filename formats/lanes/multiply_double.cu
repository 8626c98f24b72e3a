#include "formats/lanes/multiply.cuh"

namespace autospmv::formats::cuda_steps {

template void multiply(const WarpEll<double>&, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats::cuda_steps
