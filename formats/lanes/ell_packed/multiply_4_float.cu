#include "formats/lanes/ell_packed/multiply.cuh"

namespace autospmv::formats::ell_packed::device {

template void multiply_entries<4>(const PackedEll<float>&, float, const float*, float, float*, Stream);

}  // namespace autospmv::formats::ell_packed::device
