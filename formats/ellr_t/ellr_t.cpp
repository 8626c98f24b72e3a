// ellr_t: ELLPACK-R. Every row padded to the longest, stored column by column, with the true length of each row
// beside it, so that a thread stops where its row ends; T threads a row, rows rounded up to a multiple of 16.
//
//   a b .      values  a d e | b . f | . . g     lengths 2 1 3      (| : next chunk; T = 1)
//   d . .
//   e f g
//
// The sliced core with a single slice and lengths: formats/common/sliced.hpp.

#include "formats/common/sliced_format.hpp"

namespace autospmv::formats::ellr_t {

namespace {

template <class T>
class EllrT final : public SlicedFormat<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "ellr_t",
        .version = 4,
        .summary = "ELLPACK-R with row lengths, T threads a row",
        .paper =
            "Vazquez, Ortega, Fernandez, Garzon, \"Improving the performance of the sparse matrix vector product "
            "with GPUs\", 2010, IV",
        .backends = {Backend::host, Backend::cuda},
        .deterministic = true,
        .baseline = false};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    const auto values = value_bits_for<T>(features);
    if (device.backend == Backend::host) return {{"T", {1}}, {"value_bits", values}};
    Values threads{1, 2, 4, 8};
    if (features.npr_mean > 64) threads = {8, 4, 16, 32};
    return {{"block", {256, 128, 512}}, {"value_bits", values}, {"T", threads}};
  }

 private:
  using Values = typename SlicedFormat<T>::Values;

  [[nodiscard]] SlicedLayout layout_of(const Params& params) const override {
    SlicedLayout layout;
    layout.slice_rows = 0;
    layout.threads = params["T"];
    layout.keep_lengths = true;
    layout.block = static_cast<int>(params.find("block").value_or(256));
    layout.value_bits = static_cast<int>(params["value_bits"]);
    return layout;
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    const auto values = all_value_bits<T>();
    if (device.backend == Backend::host) return {{"T", {1}}, {"value_bits", values}};
    return {{"T", {1, 2, 4, 8, 16, 32}}, {"block", {128, 256, 512}}, {"value_bits", values}};
  }
};

}  // namespace

template <class T>
const Format<T>& format() {
  static const EllrT<T> instance;
  return instance;
}

template const Format<float>& format();
template const Format<double>& format();

}  // namespace autospmv::formats::ellr_t
