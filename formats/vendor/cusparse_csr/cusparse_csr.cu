// cusparse_csr: the vendor's product by CSR, preprocessed, as a candidate like any other and as the baseline where
// there is a GPU. algorithm 1 is CUSPARSE_SPMV_CSR_ALG1, the library's default, 2 is CUSPARSE_SPMV_CSR_ALG2, the
// reproducible one. It reads the arrays of the matrix where they are.

#include "formats/common/predict/walks.hpp"
#include "formats/vendor/cusparse.hpp"

namespace autospmv::formats::cusparse_csr {

namespace {

template <class T>
struct CsrStorage {
  CsrView<T> matrix;

  [[nodiscard]] cusparse::MatrixDescriptor describe() const { return cusparse::describe_csr(matrix); }
  bool refresh(const CsrView<T>& /*from*/, Stream /*stream*/) { return true; }
  [[nodiscard]] std::int64_t bytes() const { return 0; }
};

template <class T>
class CusparseCsr final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{.name = "cusparse_csr",
                                 .version = 1,
                                 .summary = "the vendor's product by CSR, preprocessed",
                                 .paper = "NVIDIA, cuSPARSE library, cusparseSpMV()",
                                 .backends = {Backend::cuda},
                                 .deterministic = false,  // only algorithm 2 is
                                 .baseline = true,
                                 .vendor = true};
    return info;
  }

  [[nodiscard]] bool deterministic(const Params& params, const Device& /*device*/) const override {
    return params.find("algorithm") == 2;
  }

  [[nodiscard]] ParamSpace params(const Features& /*features*/, const Device& /*device*/) const override {
    return {{"algorithm", {1, 2}}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params,
                                  const Device& /*device*/) const override {
    if (auto refusal = cusparse::refuse(features)) return *refusal;
    Cost cost;
    cost.bytes = csr_bytes<T>(features.rows, features.nnz) + vector_bytes<T>(features);
    cost.walk = walk_of_shares(static_cast<double>(features.nnz), cusparse::entries_of_thread);
    cost.launches = params["algorithm"] == 1 ? 2 : 3;
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    if (auto refusal = cusparse::refuse(matrix)) return *refusal;
    const DeviceScope scope(device);
    const auto algorithm = params["algorithm"] == 1 ? CUSPARSE_SPMV_CSR_ALG1 : CUSPARSE_SPMV_CSR_ALG2;
    return cusparse::make_operator(cusparse::open_library(device), CsrStorage<T>{matrix}, matrix, algorithm, device);
  }

 private:
  [[nodiscard]] std::vector<Allowed> allowed(const Device& /*device*/) const override {
    return {{"algorithm", {1, 2}}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(CusparseCsr);

}  // namespace autospmv::formats::cusparse_csr
