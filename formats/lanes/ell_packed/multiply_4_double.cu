#include "formats/lanes/ell_packed/multiply.cuh"

namespace autospmv::formats::ell_packed::device {

template void multiply_entries<4>(const PackedEll<double>&, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats::ell_packed::device
