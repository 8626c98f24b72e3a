// csr_adaptive: CSR as it is, rows in blocks of about as many nonzeros, each treated as its rows want.
//
//   rows 0-2: 3 4 2 nonzeros     one block of threads stages their products and sums row by row      (CSR-Stream)
//   row 3:    a whole block's    one block of threads sums it in registers                           (CSR-Vector)
//   row 4:    more than four     several blocks of threads, a part each; the last one adds them up   (CSR-VectorL)
//
// Where a block starts says which of them it is; see formats/staged/row_blocks.hpp for the blocks and
// formats/staged/storage.hpp for the products. The paper adds parts of a row to y by atomics, in whatever order:
// sums that the last block collects in their order take the same number of memory operations, and no block waits.
//
// `nonzeros` is the most that a block holds. A block may have as many rows.

#include <algorithm>

#include "formats/staged/family.hpp"

namespace autospmv::formats::csr_adaptive {

namespace {

template <class T>
class CsrAdaptive final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "csr_adaptive",
        .version = 1,
        .summary = "CSR in row blocks: short rows staged, long ones by a block or several",
        .paper =
            "Greathouse, Daga, \"Efficient sparse matrix-vector multiplication on GPUs using the CSR storage format\", "
            "2014, 4; Daga, Greathouse, \"Structural agnostic SpMV: adapting CSR-Adaptive for irregular matrices\", "
            "2015, 3",
        .offered = {}};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    if (device.backend == Backend::host) return {{"nonzeros", {1024, 4096}}};
    // Enough blocks to keep every multiprocessor busy come first.
    const double blocks_wanted = 8.0 * std::max(1, device.multiprocessors);
    const auto most = power_of_two_above(static_cast<double>(features.nnz) / blocks_wanted, 2048);
    const std::int64_t middle = std::max<std::int64_t>(most, 512);
    return {{"value_bits", value_bits_for<T>(features)}, {"block", {256, 128}}, {"nonzeros", {middle, middle / 2}}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    auto cost = cost_of_row_blocks<T>(features, limits_of(params), params.find("block").value_or(0), device);
    if (device.backend == Backend::cuda) {
      if (auto refusal = refuse_value_bits<T>(features, params["value_bits"])) return *refusal;
      add_encoded_values<T>(features, params["value_bits"], cost);
    }
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    const DeviceScope scope(device);
    const auto stream = setup_stream(device);
    auto blocks = make_row_blocks(matrix.row_ptr, matrix.rows, matrix.nnz, limits_of(params), device, stream);
    const StagedRows shape{.block = static_cast<int>(params.find("block").value_or(0))};
    auto op = std::make_unique<StagedRowsOperator<T>>(matrix, std::move(blocks), shape, device);
    if (device.backend == Backend::cuda) {
      const auto value_bits = static_cast<int>(params["value_bits"]);
      if (value_bits < full_value_bits<T>) {
        const double bytes = static_cast<double>(matrix.nnz) * sizeof(T);
        if (auto refusal = refuse_allocation(bytes, matrix, device)) return *refusal;
      }
      if (!op->encode(value_bits, stream)) return Refusal{"values: more bits are needed"};
      synchronize(device, stream);
    }
    return std::unique_ptr<Operator<T>>(std::move(op));
  }

 private:
  static RowBlockLimits limits_of(const Params& params) {
    const auto nonzeros = params["nonzeros"];
    return {.entries = nonzeros, .rows = nonzeros, .part = blocks_of_part * nonzeros};
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    if (device.backend == Backend::host) return {{"nonzeros", {256, 512, 1024, 2048, most_staged_on_host}}};
    return {
        {"nonzeros", {256, 512, 1024, 2048, 4096}}, {"block", {128, 256, 512}}, {"value_bits", all_value_bits<T>()}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(CsrAdaptive);

}  // namespace autospmv::formats::csr_adaptive
