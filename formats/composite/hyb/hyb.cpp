#include "formats/composite/hyb/hyb.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"
#include "formats/common/host/host_shares.hpp"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"
#include "formats/common/row_length.hpp"

namespace autospmv::formats::hyb {

namespace host {

template <class T>
std::int64_t count(const CsrView<T>& matrix, std::int64_t width, CooRest<T>& rest) {
  rest.first_of_row = Array<std::int64_t>(static_cast<std::size_t>(matrix.rows) + 1, Place{});
  std::int64_t entries = 0;
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      rest.first_of_row[static_cast<std::size_t>(row)] = entries;
      entries += std::max<std::int64_t>(0, row_length(row_ptr, row) - width);
    }
  });
  rest.first_of_row[static_cast<std::size_t>(matrix.rows)] = entries;
  return entries;
}

template <class T>
void fill(const CsrView<T>& matrix, std::int64_t width, CooRest<T>& rest, Array<T>& values) {
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    parallel_for(matrix.rows, [&](std::int64_t row) {
      auto entry = static_cast<std::size_t>(rest.first_of_row[static_cast<std::size_t>(row)]);
      for (auto k = row_ptr[row] + width; k < row_ptr[row + 1]; ++k, ++entry) {
        rest.rows[entry] = static_cast<std::int32_t>(row);
        rest.columns[entry] = matrix.col_idx[k];
        values[entry] = matrix.values[k];
      }
    });
  });
}

}  // namespace host

namespace {

template <class T>
double rest_bytes(double rows, double entries, int value_bits) {
  return rows * 8 + entries * (8 + static_cast<double>(value_bits_of<T>(value_bits)) / 8);
}

template <class T>
class HybOperator final : public Operator<T> {
 public:
  HybOperator(SlicedMatrix<T> regular, CooRest<T> rest, const Device& device)
      : regular_(std::move(regular)),
        rest_(std::move(rest)),
        place_(device),
        block_(regular_.layout.block),
        rows_(static_cast<std::int64_t>(rest_.first_of_row.size()) - 1) {
    on_backend(
        place_, [&] { host_shares_ = std::clamp(device.multiprocessors, 1, formats::host::most_shares); },
        [&] {
          const Cut cut{share_for(rest_.entries(), device), true, false, Fixup::atomics};
          const RowOffsets first_of_row = static_cast<const std::int64_t*>(rest_.first_of_row.data());
          rest_.shares =
              formats::device::cut_equally<T>(first_of_row, rows_, rest_.entries(), cut, device, setup_stream(device));
        });
  }

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    regular_.multiply(alpha, x, beta, y, place_, stream);
    if (rest_.entries() == 0) return;
    on_backend(
        place_, [&] { multiply_triplets_host(rest_.triplets(), rows_, host_shares_, alpha, x, T{1}, y); },
        [&] {
          auto triplets = rest_.triplets();
          triplets.policy = policy_for<T>(bytes(), regular_.rows, regular_.cols);
          multiply_triplets_cuda(triplets, rest_.shares, block_, alpha, x, T{1}, y, stream);
        });
  }

  bool update_values(const CsrView<T>& matrix, Stream stream) override {
    return regular_.refresh(matrix, place_, stream) &&
           refill_values(rest_.values, static_cast<std::size_t>(rest_.entries()), nullptr, place_, stream,
                         [&](Array<T>& values, Stream on) { fill(matrix, values, on); });
  }

  [[nodiscard]] bool takes_any_values() const override { return regular_.values.in_full() && rest_.values.in_full(); }

  /// False where the values need more bits than the layout has for them.
  bool fill_rest(const CsrView<T>& matrix, Stream stream) {
    Array<T> values(static_cast<std::size_t>(rest_.entries()), place_);
    fill(matrix, values, stream);
    return encode(rest_.values, std::move(values), value_bits_of<T>(regular_.layout.value_bits), nullptr, stream);
  }

  [[nodiscard]] std::int64_t bytes() const override { return regular_.bytes() + rest_.bytes(); }

 private:
  // Longer stretches cost fewer atomics; but first every multiprocessor wants enough warps to hide the loads behind.
  static std::int64_t share_for(std::int64_t entries, const Device& device) {
    constexpr std::int64_t warp = 32;
    constexpr std::int64_t warps_wanted = 32;
    const auto of_warp = entries / (warp * warps_wanted * std::max(1, device.multiprocessors));
    return warp * (of_warp >= 8 ? 8 : of_warp >= 4 ? 4 : of_warp >= 2 ? 2 : 1);
  }

  void fill(const CsrView<T>& matrix, Array<T>& values, [[maybe_unused]] Stream stream) {
    on_backend(
        place_, [&] { host::fill(matrix, regular_.layout.width_cap, rest_, values); },
        [&] { device::fill(matrix, regular_.layout.width_cap, rest_, values, stream); });
  }

  SlicedMatrix<T> regular_;
  CooRest<T> rest_;
  Place place_;
  int block_;
  std::int64_t rows_;
  int host_shares_ = 1;
};

template <class T>
class Hyb final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "hyb",
        .version = 5,
        .summary = "ELLPACK of width K and the rest in coordinates",
        .paper =
            "Bell, Garland, \"Implementing sparse matrix-vector multiplication on throughput-oriented "
            "processors\", 2009, 4.4",
        .offered = {},
        .deterministic = false};  // on CUDA, rows that span shares are added up by atomics
    return info;
  }

  [[nodiscard]] bool deterministic(const Params& /*params*/, const Device& device) const override {
    return device.backend == Backend::host;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    // The papers' rule is a percentile of npr: two thirds of the rows may be no longer, a third of them longer (67).
    // Other matrices want it lower (33, 50) or, for long tails, higher (90, 95). K = 0 leaves everything to COO, which
    // no distribution of lengths can unbalance.
    std::vector<std::int64_t> widths;
    const auto add = [&](std::int64_t width) {
      if (std::find(widths.begin(), widths.end(), width) == widths.end()) widths.push_back(width);
    };
    add(features.npr_percentile[percentile_index(67)]);
    add(0);
    for (const int percent : {33, 90, 50, 95}) add(features.npr_percentile[percentile_index(percent)]);
    const auto values = value_bits_for<T>(features);
    if (device.backend == Backend::host) return {{"value_bits", values}, {"K", widths}};
    return {{"value_bits", values}, {"K", widths}, {"block", {256}}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    const auto width = params["K"];
    if (width >= features.npr_max) return Refusal{"nothing left for COO: no row is longer than K"};
    if (auto refusal = refuse_value_bits<T>(features, params["value_bits"])) return *refusal;
    const auto value_bits = static_cast<int>(params["value_bits"]);
    const double rest = entries_past(features, width);
    const double slots = static_cast<double>(features.rows + 15) * static_cast<double>(width);
    const double regular = sliced_bytes<T>(layout_of(params), features.rows, slots);
    Cost cost;
    cost.storage_bytes = regular + rest_bytes<T>(static_cast<double>(features.rows), rest, value_bits);
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    cost.bytes = regular + rest_bytes<T>(0, rest, value_bits) + vector_bytes<T>(features);
    cost.launches = 2;
    if (device.backend == Backend::cuda) {
      constexpr double entries_of_thread = 8;  // of the rest
      const double threads = (width > 0 ? static_cast<double>(features.rows) : 0) + rest / entries_of_thread;
      cost.walk = {.threads = threads,
                   .steps = static_cast<double>(features.nnz) / std::max(1.0, threads),
                   .longest = std::max(static_cast<double>(width), entries_of_thread)};
      if (rest > 0) add_sums(cost.walk);
    } else {
      cost.work = work_of_slots(features, slots + rest, work_in_packs(0.54, 0.9)) +
                  work_of_decoding(slots + rest, full_column_bits, value_bits);
    }
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    const DeviceScope scope(device);
    auto regular = build_sliced(matrix, layout_of(params), device);
    if (!regular) return Refusal{regular.reason()};
    CooRest<T> rest;
    const auto width = params["K"];
    const auto entries = static_cast<std::size_t>(on_backend(
        device, [&] { return host::count(matrix, width, rest); },
        [&] { return device::count(matrix, width, rest, device, setup_stream(device)); }));
    const double bytes =
        rest_bytes<T>(static_cast<double>(matrix.rows), static_cast<double>(entries), full_value_bits<T>);
    if (auto refusal = refuse_allocation(bytes, matrix, device)) return *refusal;
    rest.rows = Array<std::int32_t>(entries, device);
    rest.columns = Array<std::int32_t>(entries, device);
    auto built = std::make_unique<HybOperator<T>>(std::move(*regular), std::move(rest), device);
    if (!built->fill_rest(matrix, setup_stream(device)))
      return refuse_encoding(value_bits_of<T>(layout_of(params).value_bits));
    synchronize(device, setup_stream(device));
    return std::unique_ptr<Operator<T>>(std::move(built));
  }

 private:
  static SlicedLayout layout_of(const Params& params) {
    SlicedLayout layout;
    layout.slice_rows = 0;
    layout.width_cap = params["K"];
    layout.block = static_cast<int>(params.find("block").value_or(256));
    layout.value_bits = static_cast<int>(params["value_bits"]);
    return layout;
  }

  // Entries past the first `width` of their rows, from the histogram: rows of a bin are taken to be as long as its
  // middle, never longer than the longest.
  static double entries_past(const Features& features, std::int64_t width) {
    double entries = 0;
    for (int bin = 1; bin < npr_bins; ++bin) {
      const double shortest = least_of_bin(bin);
      const double longest = std::min(2 * shortest - 1, static_cast<double>(features.npr_max));
      const double past = (shortest + longest) / 2 - static_cast<double>(width);
      entries += std::max(0.0, past) * static_cast<double>(features.npr_histogram[static_cast<std::size_t>(bin)]);
    }
    return std::min(entries, static_cast<double>(features.nnz));
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    constexpr auto widest = std::numeric_limits<std::int64_t>::max();
    std::vector<Allowed> all{{"K", {0, widest}, 1}, {"value_bits", all_value_bits<T>()}};
    if (device.backend == Backend::cuda) all.push_back({"block", {128, 256, 512}});
    return all;
  }
};

}  // namespace

AUTOSPMV_FORMAT(Hyb);

}  // namespace autospmv::formats::hyb
