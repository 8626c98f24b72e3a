// ellr_t: ELLPACK-R. Every row padded to the longest, stored column by column, with the true length of each row
// beside it, so that a thread stops where its row ends; T threads a row, rows rounded up to a multiple of 16.
//
//   a b .      values  a d e | b . f | . . g     lengths 2 1 3      (| : next chunk; T = 1)
//   d . .
//   e f g
//
// The sliced core with a single slice and lengths: formats/common/sliced.hpp.

#include "formats/common/rules.hpp"
#include "formats/common/sliced.hpp"

namespace autospmv::formats::ellr_t {

namespace {

template <class T>
class EllrT final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "ellr_t",
        .version = 2,
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
    std::vector<std::int64_t> threads{1, 2, 4, 8};
    if (features.npr_mean > 64) threads = {8, 4, 16, 32};
    return {{"block", {256, 128, 512}}, {"value_bits", values}, {"T", threads}};
  }

  [[nodiscard]] Result<Cost> predict(const Features& features, const Params& params,
                                     const Device& device) const override {
    if (auto refusal = refuse_params(params, allowed(device))) return *refusal;
    if (auto refusal = refuse_value_bits<T>(features, params["value_bits"])) return *refusal;
    const auto layout = layout_of(params);
    const std::int64_t chunks = (features.npr_max + layout.threads - 1) / layout.threads;
    const double slots = static_cast<double>(features.rows + 15) * static_cast<double>(chunks * layout.threads);
    Cost cost;
    cost.storage_bytes = sliced_bytes<T>(layout, features.rows, slots);
    if (auto refusal = refuse_storage(cost.storage_bytes, csr_bytes<T>(features.rows, features.nnz), device)) {
      return *refusal;
    }
    // Padding is stored but hardly read: only what lies in the same sector as an entry.
    const double read = static_cast<double>(features.nnz) * std::max(1.0, features.sliced_ell_padding[0]);
    cost.bytes = sliced_bytes<T>(layout, features.rows, read) + vector_bytes<T>(features);
    cost.imbalance = idle_threads(features, layout.threads);
    return cost;
  }

  [[nodiscard]] Result<std::unique_ptr<Operator<T>>> build(const CsrView<T>& matrix, const Params& params,
                                                           const Device& device) const override {
    if (auto refusal = refuse_params(params, allowed(device))) return *refusal;
    return SlicedOperator<T>::make(matrix, layout_of(params), device);
  }

 private:
  static SlicedLayout layout_of(const Params& params) {
    SlicedLayout layout;
    layout.slice_rows = 0;
    layout.threads = params["T"];
    layout.keep_lengths = true;
    layout.block = static_cast<int>(params.find("block").value_or(256));
    layout.value_bits = static_cast<int>(params["value_bits"]);
    return layout;
  }

  static std::vector<Allowed> allowed(const Device& device) {
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
