// ell_g: GPU ELLPACK. ELLPACK with the length of each row beside it, so that a thread stops where its row ends, and a
// loop that is unrolled and loads before it uses. Unlike ELLR-T, the data does not know how many threads share a row:
// thread s of S takes the slots s, s + S, ... of its row.
//
//   a b .      values  a d e | b . f | . . g     lengths 2 1 3
//   d . .      S = 2:  thread 0 of the last row sums e and g, thread 1 sums f
//   e f g
//
// The sliced core with a single slice and lengths: formats/sliced/storage.hpp.

#include "formats/sliced/family.hpp"

namespace autospmv::formats::ell_g {

namespace {

template <class T>
class EllG final : public SlicedFormat<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "ell_g",
        .version = 2,
        .summary = "ELLPACK with row lengths, unrolled, 1, 2 or 4 threads a row on the same data",
        .paper =
            "Barbieri, Cardellini, Fanfarillo, Filippone, \"Three storage formats for sparse "
            "matrices on GPGPUs\", 2015, 3.1 "
            "and Algorithms 3.1 and 3.2",
        .offered = {}};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& /*features*/, const Device& device) const override {
    if (device.backend == Backend::host) return {};
    return {{"block", {256, 128}}, {"threads", {1, 2}, {4}}, {"unroll", {4, 2, 8}}};
  }

 private:
  void lay_out(const Params& params, SlicedLayout& layout) const override {
    layout.slice_rows = 0;
    layout.keep_lengths = true;
    layout.split = params.find("threads").value_or(1);
    layout.unroll = static_cast<int>(params.find("unroll").value_or(4));
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    if (device.backend == Backend::host) return {};
    return {{"block", {128, 256, 512}}, {"threads", {1, 2, 4}}, {"unroll", {2, 4, 8}}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(EllG);

}  // namespace autospmv::formats::ell_g
