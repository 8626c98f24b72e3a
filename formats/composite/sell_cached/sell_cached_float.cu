#include "formats/composite/sell_cached/sell_cached.cuh"

namespace autospmv::formats::sell_cached::device {

template void cut_rows(const CsrView<float>&, CachedSell<float>&, Place, Stream);
template std::int64_t lay_out(const CsrView<float>&, CachedSell<float>&, Place, Stream);
template void deal_slices(CachedSell<float>&, std::int64_t, std::int64_t, Place, Stream);
template Fit store(const CsrView<float>&, CachedSell<float>&, Place, Stream);
template void fill(const CsrView<float>&, const CachedSell<float>&, Array<std::int32_t>&, Array<float>&, Stream);
template void multiply(const CachedSell<float>&, float, const float*, float, float*, Stream);

}  // namespace autospmv::formats::sell_cached::device
