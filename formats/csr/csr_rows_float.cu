#include "formats/csr/csr_rows.cuh"

namespace autospmv::formats {

template void multiply_csr_rows_cuda(const CsrView<float>&, const EncodedColumns&, const EncodedValues<float>&,
                                     const CsrRows&, float, const float*, float, float*, Stream);

}  // namespace autospmv::formats
