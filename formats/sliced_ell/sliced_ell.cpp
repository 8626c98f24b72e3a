// sliced_ell: slices of S rows, each padded to its own longest row, with the length of each row beside it; with T
// threads a row it is sliced ELLR-T.
//
//   S = 2:  a b .   values  a d | b .
//           d . .           e h | f . | g .      lengths 2 1 3 1
//           e f g
//           h . .
//
// The sliced core with lengths: formats/common/sliced.hpp.

#include "formats/common/sliced_format.hpp"

namespace autospmv::formats::sliced_ell {

namespace {

template <class T>
class SlicedEll final : public SlicedFormat<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "sliced_ell",
        .version = 2,
        .summary = "sliced ELLPACK: slices of S rows, T threads a row",
        .paper =
            "Monakov, Lokhmotov, Avetisyan, \"Automatically tuning sparse matrix-vector multiplication for GPU "
            "architectures\", 2010; with T threads: Dziekonski, Lamecki, Mrozowski, \"A memory efficient and fast "
            "sparse matrix vector product on a GPU\", 2011",
        .backends = {Backend::host, Backend::cuda},
        .deterministic = true,
        .baseline = false};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    const auto values = value_bits_for<T>(features);
    const auto columns = column_bits_for(features.slice_span_max);
    if (device.backend == Backend::host)
      return {{"S", {16}}, {"T", {1}}, {"column_bits", columns}, {"value_bits", values}};
    Values threads{1, 2, 4};
    if (features.npr_mean > 24) threads = {4, 8, 2, 16};
    return {{"column_bits", columns}, {"value_bits", values}, {"S", {32, 64}}, {"T", threads}};
  }

 private:
  using Values = typename SlicedFormat<T>::Values;

  [[nodiscard]] SlicedLayout layout_of(const Params& params) const override {
    SlicedLayout layout;
    layout.slice_rows = params["S"];
    layout.threads = params["T"];
    layout.keep_lengths = true;
    layout.column_bits = static_cast<int>(params["column_bits"]);
    layout.value_bits = static_cast<int>(params["value_bits"]);
    return layout;
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    return {{"S", {16, 32, 64, 128}},
            {"T", device.backend == Backend::host ? Values{1} : Values{1, 2, 4, 8, 16, 32}},
            {"column_bits", {8, 16, 32}},
            {"value_bits", all_value_bits<T>()}};
  }
};

}  // namespace

template <class T>
const Format<T>& format() {
  static const SlicedEll<T> instance;
  return instance;
}

template const Format<float>& format();
template const Format<double>& format();

}  // namespace autospmv::formats::sliced_ell
