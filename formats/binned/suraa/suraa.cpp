// suraa: rows sorted by decreasing npr and stored again in that order, cut into segments that get kernels of their own
// by how long their rows are.
//
//   row 0: a          order    2 0 1 3          G1   c d e f g ...   a kernel, or blocks, a row
//   row 1: b          offsets  0 9 10 11 12     G2   32 to 128 threads a row
//   row 2: c d e ...  columns and values        G3   a | b | h       a thread a row
//   row 3: h          in that order
//
//   max_child_threads     of the longest segments that hold so many rows together and have 32 nonzeros a row, each row
//                         is multiplied by a child kernel (dynamic parallelism); that many children must find room in
//                         the device runtime's pool. 0: G1 has no other kernels than G2, but as many threads as it
//                         needs
//   fused = 0             a kernel a segment, side by side, as in the paper; 1: one launch for all of them
//   entries = 0           a thread a row where a segment has less than 32 nonzeros a row, else half as many threads as
//                         nonzeros: the paper's rule, and the only one. Bins of so many nonzeros a thread instead of
//                         segments are csr_sorted_bins
//   width                 of a segment, in percent of what the rule of Freedman and Diaconis says (segments.hpp)
//   split > 0             rows of more than split nonzeros a thread of a block are shared by several blocks (atomics)
//
// Child kernels are the paper's own form. On an H200, 8192 of them take 1.5 ms, 200 times what the same rows take
// without; and beside other kernels of a replayed graph they did not end, so products with them are not captured.
// Algorithm 1 launches the segments of few nonzeros first and the parent of the children last; where there are none,
// here those begin first that take longest.
//
// The paper sorts rows of the same length by their first column; here they keep their order, for the same purpose. From
// 128 nonzeros on, rows are sorted by quarters of a power of two: they get many threads each.
// On the host, rows of a length follow each other, so the ends of their loops are foreseen; T is the number of partial
// sums of long rows.
//
// Kernels: formats/binned/storage.hpp. Source: Muhammed, Mehmood, Albeshri, Katib, "SURAA: a novel method and tool
// for loadbalanced and coalesced SpMV computations on GPUs", 2019, 4, Algorithms 1 to 6.

#include "formats/binned/family.hpp"
#include "formats/binned/suraa/segments.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/walks.hpp"

namespace autospmv::formats::suraa {

namespace {

// Nonzeros a thread in segments: the paper's kernels have half as many threads as their rows have nonzeros.
constexpr int entries_of_segment = 2;

// Kernels of a product by segments: seldom more segments are filled.
constexpr int usual_segments = 16;

// Of a thread, where segments leave a row to one thread until it is long.
constexpr double entries_before_sharing = 32;

template <class T>
class Suraa final : public BinnedFormat<T> {
 public:
  Suraa() : BinnedFormat<T>(true) {}

  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "suraa",
        .version = 2,
        .summary = "CSR sorted by row length, in segments with kernels of their own",
        .paper =
            "Muhammed, Mehmood, Albeshri, Katib, \"SURAA: a novel method and tool for loadbalanced and coalesced SpMV "
            "computations on GPUs\", 2019, 4",
        .offered = {},
        .deterministic = false};  // on CUDA, rows that blocks share are added up by atomics
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    if (device.backend == Backend::host) return {{"T", {4, 8}}};
    return {{"value_bits", value_bits_for<T>(features)},
            {"fused", {0, 1}},
            {"entries", {0}},
            {"width", {100}, {50, 200}},
            {"split", splits_for(features, usual_block)},
            child_limits_for(features),
            {"block", {usual_block}}};
  }

 private:
  [[nodiscard]] int entries_of(const Params& /*params*/) const override { return entries_of_segment; }

  [[nodiscard]] std::vector<std::int64_t> floors(const Params& /*params*/, const Device& /*device*/) const override {
    return fine_floors();
  }

  std::optional<Refusal> set_bins(const RowBins& rows, const std::vector<std::int64_t>& /*floors*/,
                                  const Params& params, BinnedShape& shape) const override {
    const double width = interval_width(rows) * static_cast<double>(params["width"]) / 100;
    shape.most_children = child_limit_of(params);
    const auto children = rows_of_children(rows, width, shape.most_children);
    shape.bins = segments_of(rows, this->rule_of(params), width, children);
    if (shape.most_children == 0) return std::nullopt;
    shape.dynamic_bins = 1;
    if (children > 0) return std::nullopt;
    return Refusal{"dynamic: no segment of long rows is within max_child_threads"};
  }

  [[nodiscard]] double work(const Features& features) const override {
    return work_of_rows(features, {.entry = 0.21, .row = 1.2, .unforeseen = unforeseen_when_sorted});
  }

  void add_walk(const Features& features, const Params& /*params*/, Cost& cost) const override {
    cost.walk = walk_of_shared_rows(features, entries_before_sharing);
    // A thread a row reads what its neighbours do not, and stretches of a sector are read more than once.
    cost.imbalance = std::clamp(features.npr_mean / 4, 1.0, 2.0);
  }

  [[nodiscard]] int launches(const Features& features, const Params& params) const override {
    const int least = params["fused"] != 0 ? 1 : usual_segments;
    return std::max(BinnedFormat<T>::launches(features, params), least);
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    auto all = BinnedFormat<T>::allowed(device);
    if (device.backend == Backend::host) return all;
    for (auto& one : all) {
      if (one.name == "entries") one.values = {0};
    }
    all.push_back({"width", {25, 50, 100, 200, 400}});
    all.push_back(allowed_child_limits());
    return all;
  }
};

}  // namespace

AUTOSPMV_FORMAT(Suraa);

}  // namespace autospmv::formats::suraa
