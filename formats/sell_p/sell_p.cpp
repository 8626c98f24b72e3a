// sell_p: slices of C rows, each padded to its own longest row rounded up to a multiple of T, T threads a row. With a
// sorting window sigma > 1 rows are first sorted by length within windows of sigma rows, which makes the rows of a
// slice alike and is SELL-C-sigma; sigma = 0 sorts all rows together. Padding is marked by column -1, so no row lengths
// are stored or read.
//
//   C = 2, T = 1, sigma = 4           slice 0: rows 2, 0     slice 1: rows 1, 3
//   0: a b      2: e f g              e a | f b | g .        c h
//   1: c        3: h
//
// The sliced core: formats/common/sliced.hpp.

#include <cmath>

#include "formats/common/rules.hpp"
#include "formats/common/sliced.hpp"

namespace autospmv::formats::sell_p {

namespace {

template <class T>
class SellP final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "sell_p",
        .version = 2,
        .summary = "sliced ELLPACK, padded to the threads of a row; sorted within windows it is SELL-C-sigma",
        .paper =
            "Anzt, Tomov, Dongarra, \"Implementing a sparse matrix vector product for the SELL-C/SELL-C-sigma "
            "formats on NVIDIA GPUs\", 2014; Kreutzer, Hager, Wellein, Fehske, Bishop, \"A unified sparse matrix "
            "data format for efficient general sparse matrix-vector multiplication\", 2014",
        .backends = {Backend::host, Backend::cuda},
        .deterministic = true,
        .baseline = false};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    // Sorting buys nothing where the slices are full as they are.
    std::vector<std::int64_t> windows{1};
    if (features.sliced_ell_padding[1] > 1.02) windows = {4096, 256, whole, 1};
    const auto values = value_bits_for<T>(features);
    const auto columns = column_bits_for(features.slice_span_max);
    if (device.backend == Backend::host) {
      return {{"C", {16, 1}}, {"T", {1}}, {"column_bits", columns}, {"sigma", windows}, {"value_bits", values}};
    }
    std::vector<std::int64_t> threads{1, 2, 4};
    // Few rows cannot fill the device with one thread each, and long rows keep one busy for too long.
    const double rows_wanted = 1024.0 * device.multiprocessors;
    if (features.npr_mean > 24 || static_cast<double>(features.rows) < rows_wanted) threads = {4, 8, 2, 16, 1, 32};
    return {{"C", {32}}, {"column_bits", columns}, {"sigma", windows}, {"value_bits", values}, {"T", threads}};
  }

  [[nodiscard]] Result<Cost> predict(const Features& features, const Params& params,
                                     const Device& device) const override {
    if (auto refusal = refuse_params(params, allowed(device))) return *refusal;
    if (auto refusal = refuse_shape(params)) return *refusal;
    if (auto refusal = refuse_value_bits<T>(features, params["value_bits"])) return *refusal;
    const auto layout = layout_of(params);
    // Of slices of 32 rows in their own order: sorting brings rows together that are further apart.
    if (auto refusal = refuse_column_bits(features.slice_span_max, layout.column_bits)) return *refusal;
    const double slots = static_cast<double>(features.nnz) * padding(features, layout);
    Cost cost;
    cost.storage_bytes = sliced_bytes<T>(layout, features.rows, slots);
    if (auto refusal = refuse_storage(cost.storage_bytes, csr_bytes<T>(features.rows, features.nnz), device)) {
      return *refusal;
    }
    cost.bytes = cost.storage_bytes + vector_bytes<T>(features);
    cost.imbalance = idle_threads(features, layout.threads);
    return cost;
  }

  [[nodiscard]] Result<std::unique_ptr<Operator<T>>> build(const CsrView<T>& matrix, const Params& params,
                                                           const Device& device) const override {
    if (auto refusal = refuse_params(params, allowed(device))) return *refusal;
    if (auto refusal = refuse_shape(params)) return *refusal;
    return SlicedOperator<T>::make(matrix, layout_of(params), device);
  }

 private:
  using Values = std::vector<std::int64_t>;

  // sigma = 0: a window of all rows, whatever their number.
  static constexpr std::int64_t whole = 0;

  static SlicedLayout layout_of(const Params& params) {
    SlicedLayout layout;
    layout.slice_rows = params["C"];
    layout.threads = params["T"];
    layout.sort_window = params["sigma"] == whole ? std::int64_t{1} << 31 : params["sigma"];
    layout.column_bits = static_cast<int>(params["column_bits"]);
    layout.value_bits = static_cast<int>(params["value_bits"]);
    return layout;
  }

  static std::optional<Refusal> refuse_shape(const Params& params) {
    if (params["C"] > 1) return std::nullopt;
    if (params["sigma"] == 1) return Refusal{"parameters: C=1 without sorting is CSR"};
    const bool full = params["column_bits"] == 32 && params["value_bits"] == full_value_bits<T>;
    if (!full) return Refusal{"parameters: C=1 stores columns and values in full"};
    return std::nullopt;
  }

  // Slots over nonzeros. Sorting brings equal lengths together; what remains is rounding up to T.
  static double padding(const Features& features, const SlicedLayout& layout) {
    if (features.nnz == 0) return 0;
    if (layout.slice_rows == 1) return 1;
    const std::size_t nearest = layout.slice_rows <= 16   ? 0
                                : layout.slice_rows <= 32 ? 1
                                : layout.slice_rows <= 64 ? 2
                                                          : 3;
    const double unsorted = features.sliced_ell_padding[nearest];
    const double sorted = 1 + (unsorted - 1) / std::sqrt(static_cast<double>(std::min<std::int64_t>(
                                                   layout.sort_window, std::max<std::int64_t>(1, features.rows))));
    const double rounding = static_cast<double>(layout.threads - 1) / 2 / std::max(1.0, features.npr_mean);
    return sorted + rounding;
  }

  static std::vector<Allowed> allowed(const Device& device) {
    const bool host = device.backend == Backend::host;
    return {{"C", host ? Values{1, 16, 32, 64, 128} : Values{16, 32, 64, 128}},
            {"T", host ? Values{1} : Values{1, 2, 4, 8, 16, 32}},
            {"sigma", {1, 64, 256, 1024, 4096, 16384, 65536, whole}},
            {"column_bits", {8, 16, 32}},
            {"value_bits", all_value_bits<T>()}};
  }
};

}  // namespace

template <class T>
const Format<T>& format() {
  static const SellP<T> instance;
  return instance;
}

template const Format<float>& format();
template const Format<double>& format();

}  // namespace autospmv::formats::sell_p
