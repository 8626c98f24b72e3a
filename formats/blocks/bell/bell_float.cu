#include "formats/blocks/bell/bell.cuh"

namespace autospmv::formats::bell::device {

template void multiply(const BlockMatrix<float>&, const BlockLaunch&, float, const float*, float, float*, Stream);

}  // namespace autospmv::formats::bell::device
