// hll: hacked ELLPACK. Rows in hacks, a multiple of 32 of them, each hack ELLPACK for itself with the length of each
// row beside it, so that a long row pads its own hack only; 1, 2 or 4 threads a row on the same data.
//
//   hacks of 2:  a b .   values  a d | b .     hack offsets 0 4 10     lengths 2 1 3 1
//                d . .           e h | f . | g .
//                e f g
//                h . .
//
// The sliced core with lengths: formats/sliced/storage.hpp.

#include "formats/sliced/family.hpp"

namespace autospmv::formats::hll {

namespace {

template <class T>
class Hll final : public SlicedFormat<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{.name = "hll",
                                 .version = 3,
                                 .summary = "hacked ELLPACK: ELLPACK in hacks of a multiple of 32 rows",
                                 .paper =
                                     "Barbieri, Cardellini, Fanfarillo, Filippone, \"Three storage formats for sparse "
                                     "matrices on GPGPUs\", 2015, 3.2",
                                 .offered = {Backend::cuda}};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    const auto values = value_bits_for<T>(features);
    const auto columns = this->column_bits(features, device);
    if (device.backend == Backend::host) return {{"hack", {32}}, {"column_bits", columns}, {"value_bits", values}};
    return {{"column_bits", columns}, {"value_bits", values}, {"threads", {1, 2, 4}}, {"hack", {32, 64}}};
  }

 private:
  void lay_out(const Params& params, SlicedLayout& layout) const override {
    layout.slice_rows = params["hack"];
    layout.keep_lengths = true;
    layout.split = params.find("threads").value_or(1);
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    std::vector<Allowed> all{{"hack", {32, 64, 96, 128, 256}},
                             {"column_bits", this->all_column_bits(device)},
                             {"value_bits", all_value_bits<T>()}};
    if (device.backend == Backend::cuda) all.push_back({"threads", {1, 2, 4}});
    return all;
  }
};

}  // namespace

AUTOSPMV_FORMAT(Hll);

}  // namespace autospmv::formats::hll
