// ell_warp: ELL-WARP, kernel 1 (WPK1). Rows sorted by length, in groups of a warp, each group padded to its longest row
// and stored column by column; a thread a row, and the results go where the rows came from. `sort` 0 leaves the rows in
// their order.
//
//   groups of 2:  rows 2, 0 | 1, 3     e a | f b | g .      d h
//
// The sliced core with slices of 32 rows: formats/sliced/storage.hpp.

#include "formats/sliced/family.hpp"

namespace autospmv::formats::ell_warp {

namespace {

template <class T>
class EllWarp final : public SlicedFormat<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "ell_warp",
        .version = 2,
        .summary = "ELL-WARP (WPK1): rows sorted by length, in groups of a warp",
        .paper =
            "Wong, Kuhl, Darve, \"A new sparse matrix vector multiplication GPU algorithm designed for finite element "
            "problems\", 2015, kernel 1",
        .offered = {}};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    const auto values = value_bits_for<T>(features);
    const auto columns = this->column_bits(features, device);
    // Sorting buys nothing where the groups are full as they are.
    const Values sort = features.sliced_ell_padding[1] > 1.02 ? Values{1, 0} : Values{0};
    if (device.backend == Backend::host) return {{"sort", sort}, {"column_bits", columns}, {"value_bits", values}};
    return {{"sort", sort}, {"column_bits", columns}, {"value_bits", values}, {"block", {256, 128}}};
  }

 private:
  using Values = typename SlicedFormat<T>::Values;

  void lay_out(const Params& params, SlicedLayout& layout) const override {
    layout.sort_window = params["sort"] == 1 ? this->all_rows : 1;
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    std::vector<Allowed> all{
        {"sort", {0, 1}}, {"column_bits", this->all_column_bits(device)}, {"value_bits", all_value_bits<T>()}};
    if (device.backend == Backend::cuda) all.push_back({"block", {128, 256, 512}});
    return all;
  }
};

}  // namespace

AUTOSPMV_FORMAT(EllWarp);

}  // namespace autospmv::formats::ell_warp
