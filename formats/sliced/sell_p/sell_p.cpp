// sell_p: slices of C rows, each padded to its own longest row rounded up to a multiple of T, T threads a row. With a
// sorting window sigma > 1 rows are first sorted by length within windows of sigma rows, which makes the rows of a
// slice alike and is SELL-C-sigma; sigma = 0 sorts all rows together. Padding is marked by column -1, so no row lengths
// are stored or read.
//
//   C = 2, T = 1, sigma = 4           slice 0: rows 2, 0     slice 1: rows 1, 3
//   0: a b      2: e f g              e a | f b | g .        c h
//   1: c        3: h
//
// The sliced core: formats/sliced/storage.hpp.

#include "formats/sliced/family.hpp"

namespace autospmv::formats::sell_p {

namespace {

template <class T>
class SellP final : public SlicedFormat<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "sell_p",
        .version = 7,
        .summary = "sliced ELLPACK, padded to the threads of a row; sorted within windows it is SELL-C-sigma",
        .paper =
            "Anzt, Tomov, Dongarra, \"Implementing a sparse matrix vector product for the SELL-C/SELL-C-sigma "
            "formats on NVIDIA GPUs\", 2014; Kreutzer, Hager, Wellein, Fehske, Bishop, \"A unified sparse matrix "
            "data format for efficient general sparse matrix-vector multiplication\", 2014"};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    // Sorting buys nothing where the slices are full as they are.
    Values windows{1};
    if (features.sliced_ell_padding[1] > 1.02) windows = {4096, 256, this->whole, 1};
    const auto values = value_bits_for<T>(features);
    const auto columns = this->column_bits_or_chunks(features, device);
    if (device.backend == Backend::host) {
      return {{"C", {16, 1}, {8}}, {"T", {1}}, columns, {"sigma", windows}, {"value_bits", values}};
    }
    Values threads{1, 2, 4};
    // Few rows cannot fill the device with one thread each, and long rows keep one busy for too long.
    const double rows_wanted = 1024.0 * device.multiprocessors;
    if (features.npr_mean > 24 || static_cast<double>(features.rows) < rows_wanted) threads = {4, 8, 2, 16, 1, 32};
    return {{"C", {32}, {64, 16, 8}}, columns, {"sigma", windows}, {"value_bits", values}, {"T", threads}};
  }

 private:
  using Values = typename SlicedFormat<T>::Values;

  void lay_out(const Params& params, SlicedLayout& layout) const override {
    layout.slice_rows = params["C"];
    layout.threads = params["T"];
    layout.sort_window = this->window_of(params["sigma"]);
  }

  [[nodiscard]] std::optional<Refusal> refuse_combination(const Params& params) const override {
    if (params["C"] == 1 && params["sigma"] == 1) return Refusal{"parameters: C=1 without sorting is CSR"};
    return std::nullopt;
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    const bool host = device.backend == Backend::host;
    return {{"C", host ? Values{1, 8, 16, 32, 64, 128} : Values{8, 16, 32, 64, 128}},
            {"T", host ? Values{1} : Values{1, 2, 4, 8, 16, 32}},
            {"sigma", {1, 64, 256, 1024, 4096, 16384, 65536, this->whole}},
            {"column_bits", this->all_column_bits_or_chunks(device)},
            {"value_bits", all_value_bits<T>()}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(SellP);

}  // namespace autospmv::formats::sell_p
