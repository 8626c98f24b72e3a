// csr_vector: CSR as it is, T threads a row that read neighbouring entries and add their partial sums by warp
// shuffles (T > 32: through shared memory). The storage is that of csr_scalar; T is chosen near npr. On the host, T
// is how many products of a row are added up side by side: 2 scalars, or registers of 32 bytes, one (8) or two (16), or
// what a processor with AVX-512 gathers into one of 64 bytes (32).
// With share > 0, rows of more than share entries a thread are left to the whole block: where a few rows are long, the
// others' threads would wait for theirs.
//
//   T = 2   row 0: a b      thread 0: a + c + e
//           row 0: c d      thread 1: b + d          row = thread 0 + thread 1
//           row 0: e

#include <algorithm>

#include "formats/common/host/gathers.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"
#include "formats/csr/csr_rows.hpp"

namespace autospmv::formats::csr_vector {

namespace {

template <class T>
class CsrVector final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "csr_vector",
        .version = 5,
        .summary = "CSR, T threads a row",
        .paper =
            "Bell, Garland, \"Implementing sparse matrix-vector multiplication on throughput-oriented "
            "processors\", 2009, 4.2: CSR (vector); T = 16, block = 256 is the optimized CSR of Yin, Zhang, Xu, Hu, "
            "He, \"Optimizing sparse matrix-vector multiplication based on GPU\", 2012, 5.1"};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    // T = 4 is csr_scalar there.
    if (device.backend == Backend::host) {
      return {{"T", has_gathers(device.name) ? Values{2, 8, 16, gathering_threads} : Values{2, 8, 16}}};
    }
    // The best T leaves each thread two to eight entries; more threads where few rows would leave the device idle.
    const double idle_share = 2048.0 * device.multiprocessors / std::max(1.0, static_cast<double>(features.nnz));
    const std::int64_t middle = power_of_two_above(features.npr_mean * std::clamp(idle_share, 0.33, 1.0), 256);
    ParamSpace::Axis threads{"T", {}};
    for (const auto t : {middle, middle * 2, middle / 2, middle / 4}) {
      if (t >= 2 && t <= 512) threads.values.push_back(t);
    }
    // What papers compare with, whatever the rows are.
    for (const std::int64_t t : {16, 32}) {
      if (std::find(threads.values.begin(), threads.values.end(), t) == threads.values.end())
        threads.others.push_back(t);
    }
    std::vector<std::int64_t> share{0};
    if (static_cast<double>(features.npr_max) > 8 * features.npr_mean + 32) share = {8, 0, 32};
    return {{"value_bits", value_bits_for<T>(features)},
            {"column_bits", features.slice_span_max <= largest_distance(16) ? Values{16, 32} : Values{32}},
            {"block", {256, 512}},
            {"share", share},
            threads};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    if (auto refusal = refuse_shape(params, device)) return *refusal;
    Cost cost;
    cost.bytes = csr_bytes<T>(features.rows, features.nnz) + vector_bytes<T>(features);
    if (device.backend == Backend::cuda) {
      if (auto refusal = refuse_value_bits<T>(features, params["value_bits"])) return *refusal;
      // Rows span no more than the slices they are in.
      if (auto refusal = refuse_column_bits(features.slice_span_max, params["column_bits"])) return *refusal;
      add_encoding(features, params, cost);
    }
    if (device.backend == Backend::cuda && features.nnz > 0) {
      cost.walk = walk_of_rows(features, static_cast<double>(params["T"]));
      if (params["share"] > 0) add_shared_rows(features, params, cost.walk);
    }
    if (device.backend == Backend::host) cost.work = host_work(features, params["T"]);
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    if (auto refusal = refuse_shape(params, device)) return *refusal;
    const CsrRows shape{static_cast<int>(params["T"]), static_cast<int>(params.find("block").value_or(256)),
                        static_cast<int>(params.find("share").value_or(0))};
    auto op = std::make_unique<CsrRowsOperator<T>>(matrix, shape, device);
    if (device.backend == Backend::cuda) {
      const DeviceScope scope(device);
      const auto stream = setup_stream(device);
      const auto column_bits = static_cast<int>(params["column_bits"]);
      const auto value_bits = static_cast<int>(params["value_bits"]);
      if (!op->encode(column_bits, value_bits, stream)) {
        return Refusal{"encoding: columns or values need more bits"};
      }
      // The first product of a matrix need not wait for what that stream does for others.
      if (op->bytes() > 0) synchronize(device, stream);
    }
    return std::unique_ptr<Operator<T>>(std::move(op));
  }

 private:
  // The more sums there are the more have to be added up.
  static double host_work(const Features& features, std::int64_t sums) {
    if (sums == 2) return work_of_rows(features, {.entry = 0.153, .row = 0.11, .unforeseen = 6.9});
    if (sums == 8) return work_of_rows(features, {.entry = 0.095, .row = 0.77, .unforeseen = 3.1});
    if (sums == gathering_threads) {
      // As much of x as comes from a near cache.
      constexpr double near = 1 << 20;
      const bool is_far = static_cast<double>(features.cols) * sizeof(T) > near;
      return work_of_rows(features, {.entry = is_far ? 0.085 : 0.13, .row = 1.5, .unforeseen = 3.6});
    }
    return work_of_rows(features, {.entry = 0.087, .row = 1.2, .unforeseen = 3.6});
  }

  using Values = std::vector<std::int64_t>;

  // Rows that would take more steps than `share` are walked by their block, one after another.
  static void add_shared_rows(const Features& features, const Params& params, Walk& walk) {
    // Steps of all the block's threads that a row costs, however short, for its ends and its sum; and how many steps of
    // one thread pass meanwhile.
    constexpr double handover = 3;
    constexpr double waiting = 7;
    const auto block = static_cast<double>(params["block"]);
    const auto threads = static_cast<double>(params["T"]);
    const double rows_of_block = block / threads;
    const auto share = static_cast<double>(params["share"]);
    const auto of_long_rows = [&](const auto& of_row) {
      return sum_over_rows(features, [&](double length) { return length > share * threads ? of_row(length) : 0.0; });
    };
    const double rows = of_long_rows([](double /*length*/) { return 1.0; });
    const double steps = of_long_rows([&](double length) { return handover + std::ceil(length / block); });
    const double blocks = static_cast<double>(features.rows) / rows_of_block;
    // Of a block; the last of many have more than the mean, as far as chance will have it.
    const double mean = rows / blocks;
    const double most = std::min({rows, rows_of_block, 1 + mean + 3 * std::sqrt(mean)});
    walk.steps += steps / blocks;
    walk.longest = share + waiting * most + static_cast<double>(features.npr_max) / block;
  }

  // What is stored anew, and what is read of it instead of CSR's own arrays.
  static void add_encoding(const Features& features, const Params& params, Cost& cost) {
    add_encoded_values<T>(features, params["value_bits"], cost);
    if (params["column_bits"] < 32) {
      const auto nnz = static_cast<double>(features.nnz);
      const double bytes = nnz * 2 + static_cast<double>(features.rows) * 4;
      cost.storage_bytes += bytes;
      cost.bytes += bytes - nnz * 4;
    }
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    if (device.backend == Backend::host) return {{"T", {2, 4, 8, 16, gathering_threads}}};
    return {{"T", {2, 4, 8, 16, 32, 64, 128, 256, 512}},
            {"share", {0, 8, 32}},
            {"block", {128, 256, 512}},
            {"column_bits", {16, 32}},
            {"value_bits", all_value_bits<T>()}};
  }

  static std::optional<Refusal> refuse_shape(const Params& params, const Device& device) {
    if (device.backend == Backend::host) return std::nullopt;
    if (params["T"] > params["block"]) return Refusal{"parameters: T is more than block"};
    const bool can_share = params["T"] <= 32;
    if (params["share"] > 0 && !can_share) {
      return Refusal{"parameters: rows are shared for T up to 32"};
    }
    return std::nullopt;
  }
};

}  // namespace

AUTOSPMV_FORMAT(CsrVector);

}  // namespace autospmv::formats::csr_vector
