// ell: ELLPACK. Every row padded to the longest, stored column by column, one thread a row. Padding is marked by
// column -1, no lengths are stored.
//
//   a b .      values  a d e | b . f | . . g     columns  0 0 0 | 2 . 1 | . . 2
//   d . .
//   e f g
//
// The sliced core with a single slice: formats/common/sliced.hpp.

#include "formats/common/sliced_format.hpp"

namespace autospmv::formats::ell {

namespace {

template <class T>
class Ell final : public SlicedFormat<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "ell",
        .version = 2,
        .summary = "ELLPACK: every row padded to the longest",
        .paper =
            "Bell, Garland, \"Implementing sparse matrix-vector multiplication on throughput-oriented "
            "processors\", 2009, 4.2",
        .backends = {Backend::host, Backend::cuda},
        .deterministic = true,
        .baseline = false};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    const auto values = value_bits_for<T>(features);
    if (device.backend == Backend::host) return {{"value_bits", values}};
    return {{"block", {256, 128, 512}}, {"value_bits", values}};
  }

 private:
  using Values = typename SlicedFormat<T>::Values;

  [[nodiscard]] SlicedLayout layout_of(const Params& params) const override {
    SlicedLayout layout;
    layout.slice_rows = 0;
    layout.block = static_cast<int>(params.find("block").value_or(256));
    layout.value_bits = static_cast<int>(params["value_bits"]);
    return layout;
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    if (device.backend == Backend::host) return {{"value_bits", all_value_bits<T>()}};
    return {{"block", {128, 256, 512}}, {"value_bits", all_value_bits<T>()}};
  }
};

}  // namespace

template <class T>
const Format<T>& format() {
  static const Ell<T> instance;
  return instance;
}

template const Format<float>& format();
template const Format<double>& format();

}  // namespace autospmv::formats::ell
