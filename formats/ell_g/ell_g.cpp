// ell_g: GPU ELLPACK. ELLPACK with the length of each row beside it, so that a thread stops where its row ends, and a
// loop that is unrolled and loads before it uses. Unlike ELLR-T, the data does not know how many threads share a row:
// thread s of S takes the slots s, s + S, ... of its row.
//
//   a b .      values  a d e | b . f | . . g     lengths 2 1 3
//   d . .      S = 2:  thread 0 of the last row sums e and g, thread 1 sums f
//   e f g
//
// The sliced core with a single slice and lengths: formats/common/sliced.hpp.

#include "formats/common/sliced_format.hpp"

namespace autospmv::formats::ell_g {

namespace {

template <class T>
class EllG final : public SlicedFormat<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{.name = "ell_g",
                                 .version = 2,
                                 .summary = "ELLPACK with row lengths, unrolled, 1 or 2 threads a row on the same data",
                                 .paper =
                                     "Barbieri, Cardellini, Fanfarillo, Filippone, \"Three storage formats for sparse "
                                     "matrices on GPGPUs\", 2015, 3.1 "
                                     "and Algorithms 3.1 and 3.2",
                                 .backends = {Backend::host, Backend::cuda},
                                 .deterministic = true,
                                 .baseline = false};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& /*features*/, const Device& device) const override {
    if (device.backend == Backend::host) return {};
    return {{"block", {256, 128}}, {"threads", {1, 2}}, {"unroll", {4, 2, 8}}};
  }

 private:
  using Values = typename SlicedFormat<T>::Values;

  [[nodiscard]] SlicedLayout layout_of(const Params& params) const override {
    SlicedLayout layout;
    layout.slice_rows = 0;
    layout.keep_lengths = true;
    layout.block = static_cast<int>(params.find("block").value_or(256));
    layout.split = params.find("threads").value_or(1);
    layout.unroll = static_cast<int>(params.find("unroll").value_or(4));
    return layout;
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    if (device.backend == Backend::host) return {};
    return {{"block", {128, 256, 512}}, {"threads", {1, 2}}, {"unroll", {2, 4, 8}}};
  }
};

}  // namespace

template <class T>
const Format<T>& format() {
  static const EllG<T> instance;
  return instance;
}

template const Format<float>& format();
template const Format<double>& format();

}  // namespace autospmv::formats::ell_g
