#include "formats/lanes/ell_packed/fill.cuh"

namespace autospmv::formats::ell_packed::device {

template void fill(const CsrView<float>&, const PackedEll<float>&, Array<std::int32_t>&, Array<float>&, Stream);
template Fit store(const CsrView<float>&, PackedEll<float>&, Place, Stream);

}  // namespace autospmv::formats::ell_packed::device
