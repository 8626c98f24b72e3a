#include "formats/blocks/bell/bell.cuh"

namespace autospmv::formats::bell::device {

template void multiply(const BlockMatrix<double>&, const BlockLaunch&, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats::bell::device
