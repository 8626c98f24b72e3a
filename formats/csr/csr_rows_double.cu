#include "formats/csr/csr_rows.cuh"

namespace autospmv::formats {

template void multiply_csr_rows_cuda(const CsrView<double>&, const EncodedColumns&, const EncodedValues<double>&,
                                     const CsrRows&, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats
