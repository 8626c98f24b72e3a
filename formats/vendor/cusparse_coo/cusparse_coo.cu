// cusparse_coo: the vendor's product by triplets in the order of their rows. algorithm 1 is CUSPARSE_SPMV_COO_ALG1, 2
// is CUSPARSE_SPMV_COO_ALG2, the reproducible one.
//
//   a . b        rows     0 0 1 2 2
//   . c .        columns  0 2 1 0 1    those of CSR, where they are
//   d e .        values   a b c d e    those of CSR, where they are

#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"
#include "formats/vendor/cusparse.hpp"

namespace autospmv::formats::cusparse_coo {

namespace {

template <class T>
struct CooStorage {
  CsrView<T> matrix;
  Array<std::int32_t> rows;  ///< one a nonzero

  [[nodiscard]] cusparse::MatrixDescriptor describe() const {
    cusparse::MatrixDescriptor descriptor;
    cusparse::check(cusparse::loaded::cusparseCreateConstCoo(
        descriptor.put(), matrix.rows, matrix.cols, matrix.nnz, rows.data(), matrix.col_idx, matrix.values,
        CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, cusparse::data_type<T>));
    return descriptor;
  }
  bool refresh(const CsrView<T>& /*from*/, Stream /*stream*/) { return true; }
  [[nodiscard]] std::int64_t bytes() const { return rows.bytes(); }
};

template <class T>
class CusparseCoo final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{.name = "cusparse_coo",
                                 .version = 1,
                                 .summary = "the vendor's product by triplets sorted by row",
                                 .paper = "NVIDIA, cuSPARSE library, cusparseSpMV()",
                                 .backends = {Backend::cuda},
                                 .offered = {},
                                 .deterministic = false,  // only algorithm 2 is
                                 .vendor = true};
    return info;
  }

  [[nodiscard]] bool deterministic(const Params& params, const Device& /*device*/) const override {
    return params.find("algorithm") == 2;
  }

  [[nodiscard]] ParamSpace params(const Features& /*features*/, const Device& /*device*/) const override {
    return {{"algorithm", {1, 2}}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    if (auto refusal = cusparse::refuse(features)) return *refusal;
    Cost cost;
    cost.storage_bytes = rows_bytes(features.nnz);
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    const double columns_and_values = static_cast<double>(features.nnz) * (4 + sizeof(T));
    cost.bytes = cost.storage_bytes + columns_and_values + vector_bytes<T>(features);
    cost.walk = walk_of_shares(static_cast<double>(features.nnz), cusparse::entries_of_thread);
    cost.launches = params["algorithm"] == 1 ? 2 : 3;
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    if (auto refusal = cusparse::refuse(matrix)) return *refusal;
    if (auto refusal = refuse_allocation(rows_bytes(matrix.nnz), matrix, device)) return *refusal;
    const DeviceScope scope(device);
    auto library = cusparse::open_library(device);
    CooStorage<T> storage{matrix, Array<std::int32_t>(static_cast<std::size_t>(matrix.nnz), device)};
    cusparse::check(cusparse::loaded::cusparseXcsr2coo(library.get(), std::get<0>(matrix.row_ptr),
                                                       static_cast<int>(matrix.nnz), static_cast<int>(matrix.rows),
                                                       storage.rows.data(), CUSPARSE_INDEX_BASE_ZERO));
    const auto algorithm = params["algorithm"] == 1 ? CUSPARSE_SPMV_COO_ALG1 : CUSPARSE_SPMV_COO_ALG2;
    return cusparse::make_operator(std::move(library), std::move(storage), matrix, algorithm, device);
  }

 private:
  [[nodiscard]] std::vector<Allowed> allowed(const Device& /*device*/) const override {
    return {{"algorithm", {1, 2}}};
  }

  static double rows_bytes(std::int64_t nnz) { return 4 * static_cast<double>(nnz); }
};

}  // namespace

AUTOSPMV_FORMAT(CusparseCoo);

}  // namespace autospmv::formats::cusparse_coo
