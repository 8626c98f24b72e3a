// suraa: rows sorted by decreasing npr and stored again in that order, cut into segments that get kernels of their own
// by how long their rows are.
//
//   row 0: a          order    2 0 1 3          G1   c d e f g ...   a kernel, or blocks, a row
//   row 1: b          offsets  0 9 10 11 12     G2   32 to 128 threads a row
//   row 2: c d e ...  columns and values        G3   a | b | h       a thread a row
//   row 3: h          in that order
//
//   entries = 0           the paper's: segments by the rule of Freedman and Diaconis (segments.hpp); a thread a row
//                         where a segment has less than 32 nonzeros a row, else half as many threads as nonzeros
//   entries > 0           1, 2, 4, ... threads a row, the fewest that leave each so many nonzeros. Rows are sorted only
//                         as far as their number of threads says, for the others keep y and x in order.
//   fused = 0             a kernel a segment, side by side, as in the paper; 1: one launch for all of them
//   max_child_threads     of the longest segments that hold so many rows together and have 32 nonzeros a row, each row
//                         is multiplied by a child kernel (dynamic parallelism); that many children must find room in
//                         the device runtime's pool. 0: G1 has no other kernels than G2, but as many threads as it
//                         needs
//   split > 0             rows of more than split nonzeros a thread of a block are shared by several blocks (atomics)
//
// Child kernels are there to be chosen by hand, as the paper's own form, and not offered: on an H200, 8192 of them take
// 1.5 ms, 200 times what the same rows take without; and beside other kernels of a replayed graph they did not end.
//
// The paper sorts rows of the same length by their first column; here they keep their order, for the same purpose. From
// 128 nonzeros on, rows are sorted by quarters of a power of two: they get many threads each.
// On the host, rows of a length follow each other, so the ends of their loops are foreseen; T is the number of partial
// sums of long rows.
//
// Kernels: formats/common/binned_rows.hpp. Source: Muhammed, Mehmood, Albeshri, Katib, "SURAA: a novel method and tool
// for loadbalanced and coalesced SpMV computations on GPUs", 2019, 4, Algorithms 1 to 6.

#include "formats/common/binned_rows.hpp"
#include "formats/common/binned_rules.hpp"
#include "formats/common/host_work.hpp"
#include "formats/common/walks.hpp"
#include "formats/suraa/segments.hpp"

namespace autospmv::formats::suraa {

namespace {

// Nonzeros a thread in segments: the paper's kernels have half as many threads as their rows have nonzeros.
constexpr int entries_of_segment = 2;

// Kernels of a product by segments: seldom more segments are filled.
constexpr int usual_segments = 16;

// Of a thread, where segments leave a row to one thread until it is long.
constexpr double entries_before_sharing = 32;

template <class T>
class Suraa final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "suraa",
        .version = 1,
        .summary = "CSR sorted by row length, in segments with kernels of their own",
        .paper =
            "Muhammed, Mehmood, Albeshri, Katib, \"SURAA: a novel method and tool for loadbalanced and coalesced SpMV "
            "computations on GPUs\", 2019, 4",
        .backends = {Backend::host, Backend::cuda},
        .deterministic = false,  // on CUDA, rows that blocks share are added up by atomics
        .baseline = false};
    return info;
  }

  [[nodiscard]] bool deterministic(const Params& params, const Device& device) const override {
    return device.backend == Backend::host || (params.find("split") == 0 && params.find("max_child_threads") == 0);
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    if (device.backend == Backend::host) return {{"T", {4, 8}}};
    return {{"value_bits", value_bits_for<T>(features)},
            {"fused", {1, 0}},
            {"entries", {entries_for(features).front(), 0}},
            {"split", splits_for(features, usual_block)},
            {"max_child_threads", {0}},
            {"block", {usual_block}}};
  }

  [[nodiscard]] Result<Cost> predict(const Features& features, const Params& params,
                                     const Device& device) const override {
    if (auto refusal = refuse_params(params, allowed(device))) return *refusal;
    if (auto refusal = refuse_rows(features.rows)) return *refusal;
    const bool on_host = device.backend == Backend::host;
    const auto value_bits = on_host ? full_value_bits<T> : params["value_bits"];
    if (auto refusal = refuse_value_bits<T>(features, value_bits)) return *refusal;
    Cost cost;
    cost.bytes = binned_product_bytes<T>(features, true, 0, value_bits);
    cost.storage_bytes = binned_storage_bytes<T>(features, true, 0, value_bits);
    const double csr = csr_bytes<T>(features.rows, features.nnz);
    if (auto refusal = refuse_storage(cost.storage_bytes, csr, device)) return *refusal;
    if (on_host) {
      cost.work = work_of_rows(features, {.entry = 0.30, .row = 0.4});
      return cost;
    }
    const auto rule = rule_of(params);
    const bool by_segments = params["entries"] == 0;
    const bool fused = params["fused"] != 0;
    cost.walk =
        walk_of_shared_rows(features, by_segments ? entries_before_sharing : static_cast<double>(params["entries"]));
    // A thread a row reads what its neighbours do not, and stretches of a sector are read more than once.
    if (by_segments) cost.imbalance = std::clamp(features.npr_mean / 4, 1.0, 2.0);
    cost.launches = launches(features, rule, fused);
    if (by_segments && !fused) cost.launches = std::max(cost.launches, usual_segments);
    const auto children = std::min(params["max_child_threads"], rows_of_at_least(features, warp_row));
    if (children > 0) cost.launches += launches_of_children(children);
    return cost;
  }

  [[nodiscard]] Result<std::unique_ptr<Operator<T>>> build(const CsrView<T>& matrix, const Params& params,
                                                           const Device& device) const override {
    if (auto refusal = refuse_params(params, allowed(device))) return *refusal;
    if (auto refusal = refuse_rows(matrix.rows)) return *refusal;
    const DeviceScope scope(device);
    const bool on_host = device.backend == Backend::host;
    const bool by_segments = on_host || params["entries"] == 0;
    const auto rule = on_host ? ThreadRule{} : rule_of(params);
    const auto floors = by_segments ? fine_floors() : rule.floors();
    auto rows = bin_rows(matrix.row_ptr, matrix.rows, floors, 0, device);
    BinnedShape shape;
    shape.stored = true;
    if (on_host) {
      shape.bins = bins_of_host(rows, floors, static_cast<int>(params["T"]), 0);
      return make_binned_rows(matrix, std::move(rows), std::move(shape), device);
    }
    shape.fused = params["fused"] != 0;
    shape.block = rule.block;
    shape.value_bits = static_cast<int>(params["value_bits"]);
    shape.bins = by_segments ? segments_of(rows, rule) : bins_by_rule(rows, floors, rule, 0);
    if (params["max_child_threads"] > 0) {
      shape.most_children = params["max_child_threads"];
      shape.dynamic_bins = segments_of_children(shape, rows_of_warps(rows, floors));
      if (shape.dynamic_bins == 0) return Refusal{"dynamic: no segment of long rows is within max_child_threads"};
    }
    return make_binned_rows(matrix, std::move(rows), std::move(shape), device);
  }

 private:
  static ThreadRule rule_of(const Params& params) {
    const auto entries = params["entries"] == 0 ? entries_of_segment : static_cast<int>(params["entries"]);
    return {entries, static_cast<int>(params["block"]), static_cast<int>(params["split"])};
  }

  // The rows of at least 32 nonzeros, in whole bins.
  static std::int64_t rows_of_warps(const RowBins& rows, const std::vector<std::int64_t>& floors) {
    std::size_t bin = 0;
    while (bin < floors.size() && floors[bin] + 1 >= warp_row) ++bin;
    return rows.first[bin];
  }

  static int segments_of_children(const BinnedShape& shape, std::int64_t long_rows) {
    const auto most = std::min(shape.most_children, long_rows);
    int count = 0;
    for (const auto& bin : shape.bins) count += bin.last <= most ? 1 : 0;
    return count;
  }

  static std::vector<Allowed> allowed(const Device& device) {
    if (device.backend == Backend::host) return {{"T", {4, 8}}};
    auto all = allowed_of_bins<T>();
    for (auto& one : all) {
      if (one.name == "entries") one.values.push_back(0);
    }
    all.push_back({"max_child_threads", {0, 1024, 2048, 4096, 8192}});
    return all;
  }
};

}  // namespace

template <class T>
const Format<T>& format() {
  static const Suraa<T> instance;
  return instance;
}

template const Format<float>& format();
template const Format<double>& format();

}  // namespace autospmv::formats::suraa
