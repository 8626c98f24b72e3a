#include "formats/lanes/ell_packed/fill.cuh"

namespace autospmv::formats::ell_packed::device {

template void fill(const CsrView<double>&, const PackedEll<double>&, Array<std::int32_t>&, Array<double>&, Stream);
template Fit store(const CsrView<double>&, PackedEll<double>&, Place, Stream);

}  // namespace autospmv::formats::ell_packed::device
