// ellr_t: ELLPACK-R. Every row padded to the longest, stored column by column, with the true length of each row
// beside it, so that a thread stops where its row ends; T threads a row, rows rounded up to a multiple of 16. On the
// host, T is the number of partial sums of a row.
//
//   a b .      values  a d e | b . f | . . g     lengths 2 1 3      (| : next chunk; T = 1)
//   d . .
//   e f g
//
// The sliced core with a single slice and lengths: formats/sliced/storage.hpp.

#include "formats/sliced/family.hpp"

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
        .offered = {}};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    const auto values = value_bits_for<T>(features);
    if (device.backend == Backend::host) return {{"T", {1}, {2, 4, 8, 16, 32}}, {"value_bits", values}};
    ParamSpace::Axis threads{"T", {1, 2, 4, 8}, {16, 32}};
    if (features.npr_mean > 64) threads = {"T", {8, 4, 16, 32}, {2, 1}};
    return {{"block", {256, 128, 512}}, {"value_bits", values}, threads};
  }

 private:
  void lay_out(const Params& params, SlicedLayout& layout) const override {
    layout.slice_rows = 0;
    layout.threads = params["T"];
    layout.keep_lengths = true;
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    const auto values = all_value_bits<T>();
    const Allowed threads{"T", {1, 2, 4, 8, 16, 32}};
    if (device.backend == Backend::host) return {threads, {"value_bits", values}};
    return {threads, {"block", {128, 256, 512}}, {"value_bits", values}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(EllrT);

}  // namespace autospmv::formats::ellr_t
