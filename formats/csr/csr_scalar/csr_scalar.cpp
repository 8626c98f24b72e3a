// csr_scalar: CSR as it is, one thread a row. Simple, exact in storage, and right where rows are few and short or all
// alike; on a GPU neighbouring threads read entries that are a row apart.
//
//   row_ptr  0   2   3       6          thread 0: (0 1)
//   col_idx  0 2   1   0 1 2            thread 1: (2)
//   values   a b   c   d e f            thread 2: (3 4 5)

#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/walks.hpp"
#include "formats/csr/csr_rows.hpp"

namespace autospmv::formats::csr_scalar {

namespace {

template <class T>
class CsrScalar final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "csr_scalar",
        .version = 4,
        .summary = "CSR, one thread a row",
        .paper =
            "Bell, Garland, \"Implementing sparse matrix-vector multiplication on throughput-oriented "
            "processors\", 2009, 4.2: CSR (scalar)",
        .baseline = true};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& /*features*/, const Device& device) const override {
    return device.backend == Backend::cuda ? ParamSpace{{"block", {256, 128}}} : ParamSpace{};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& /*params*/,
                                  const Device& device) const override {
    Cost cost;
    cost.bytes = csr_bytes<T>(features.rows, features.nnz) + vector_bytes<T>(features);
    if (device.backend == Backend::cuda) {
      cost.walk = walk_of_rows(features, 1);
      // The lanes of a warp read apart: each load fetches a sector of its own.
      cost.walk.steps *= 2;
      cost.walk.longest *= 2;
    } else {
      cost.work = work_of_rows(features, {.entry = 0.096, .row = 0.28, .unforeseen = 4.9});
    }
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    // On the host threads have no others to hide behind what an addition waits for: the one before it. There 4 stands
    // for as many at once as the lengths of rows ask for.
    const int partial_sums = device.backend == Backend::host ? 4 : 1;
    const CsrRows shape{partial_sums, static_cast<int>(params.find("block").value_or(256))};
    return std::unique_ptr<Operator<T>>(std::make_unique<CsrRowsOperator<T>>(matrix, shape, device));
  }

 private:
  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    if (device.backend == Backend::host) return {};
    return {{"block", {64, 128, 256, 512}}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(CsrScalar);

}  // namespace autospmv::formats::csr_scalar
