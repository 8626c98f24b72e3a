#include "formats/blocks/bsr/bsr.hpp"
#include "formats/common/kernels/dispatch.hpp"

namespace autospmv::formats::bsr::device {

template <class T>
void multiply(const BlockMatrix<T>& blocks, const BlockLaunch& launch, T alpha, const T* x, T beta, T* y,
              Stream stream) {
  dispatch<AUTOSPMV_BLOCK_SIZES>(blocks.layout.c,
                                 [&](auto c) { multiply_columns<c()>(blocks, launch, alpha, x, beta, y, stream); });
}

template void multiply(const BlockMatrix<float>&, const BlockLaunch&, float, const float*, float, float*, Stream);
template void multiply(const BlockMatrix<double>&, const BlockLaunch&, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats::bsr::device
