// sliced_ell: slices of S rows, each padded to its own longest row, with the length of each row beside it; with T
// threads a row it is sliced ELLR-T.
//
//   S = 2:  a b .   values  a d | b .
//           d . .           e h | f . | g .      lengths 2 1 3 1
//           e f g
//           h . .
//
// The sliced core with lengths: formats/sliced/storage.hpp.

#include "formats/sliced/family.hpp"

namespace autospmv::formats::sliced_ell {

namespace {

template <class T>
class SlicedEll final : public SlicedFormat<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "sliced_ell",
        .version = 3,
        .summary = "sliced ELLPACK: slices of S rows, T threads a row",
        .paper =
            "Monakov, Lokhmotov, Avetisyan, \"Automatically tuning sparse matrix-vector multiplication for GPU "
            "architectures\", 2010; with T threads: Dziekonski, Lamecki, Mrozowski, \"A memory efficient and fast "
            "sparse matrix vector product on a GPU\", 2011"};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    const auto values = value_bits_for<T>(features);
    if (device.backend == Backend::host) {
      return {{"S", {16}}, {"T", {1}}, this->column_bits_or_chunks(features, device), {"value_bits", values}};
    }
    Values threads{1, 2, 4};
    if (features.npr_mean > 24) threads = {4, 8, 2, 16};
    const auto columns = this->column_bits(features, device);
    return {{"column_bits", columns}, {"value_bits", values}, {"S", {32, 64}}, {"T", threads}};
  }

 private:
  using Values = typename SlicedFormat<T>::Values;

  void lay_out(const Params& params, SlicedLayout& layout) const override {
    layout.slice_rows = params["S"];
    layout.threads = params["T"];
    layout.keep_lengths = true;
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    const bool host = device.backend == Backend::host;
    return {{"S", {16, 32, 64, 128}},
            {"T", host ? Values{1} : Values{1, 2, 4, 8, 16, 32}},
            {"column_bits", host ? this->all_column_bits_or_chunks(device) : this->all_column_bits(device)},
            {"value_bits", all_value_bits<T>()}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(SlicedEll);

}  // namespace autospmv::formats::sliced_ell
