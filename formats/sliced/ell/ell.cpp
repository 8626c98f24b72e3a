// ell: ELLPACK. Every row padded to the longest, stored column by column, one thread a row. Padding is marked by
// column -1, no lengths are stored.
//
//   a b .      values  a d e | b . f | . . g     columns  0 0 0 | 2 . 1 | . . 2
//   d . .
//   e f g
//
// The sliced core with a single slice: formats/sliced/storage.hpp.

#include "formats/sliced/family.hpp"

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
        .offered = {Backend::host}};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    const auto values = value_bits_for<T>(features);
    if (device.backend == Backend::host) return {{"value_bits", values}};
    return {{"block", {256, 128, 512}}, {"value_bits", values}};
  }

 private:
  void lay_out(const Params& /*params*/, SlicedLayout& layout) const override { layout.slice_rows = 0; }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    if (device.backend == Backend::host) return {{"value_bits", all_value_bits<T>()}};
    return {{"block", {128, 256, 512}}, {"value_bits", all_value_bits<T>()}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(Ell);

}  // namespace autospmv::formats::ell
