#include "formats/composite/sell_cached/sell_cached.cuh"

namespace autospmv::formats::sell_cached::device {

template void cut_rows(const CsrView<double>&, CachedSell<double>&, Place, Stream);
template std::int64_t lay_out(const CsrView<double>&, CachedSell<double>&, Place, Stream);
template void deal_slices(CachedSell<double>&, std::int64_t, std::int64_t, Place, Stream);
template Fit store(const CsrView<double>&, CachedSell<double>&, Place, Stream);
template void fill(const CsrView<double>&, const CachedSell<double>&, Array<std::int32_t>&, Array<double>&, Stream);
template void multiply(const CachedSell<double>&, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats::sell_cached::device
