#include "formats/blocks/bsr/multiply.cuh"

namespace autospmv::formats::bsr::device {

template void multiply_columns<5>(const BlockMatrix<float>&, const BlockLaunch&, float, const float*, float, float*,
                                  Stream);
template void multiply_columns<5>(const BlockMatrix<double>&, const BlockLaunch&, double, const double*, double,
                                  double*, Stream);

}  // namespace autospmv::formats::bsr::device
