// cusparse_csr: the vendor's product by CSR, preprocessed, as a candidate like any other and as the baseline where
// there is a GPU. algorithm 1 is CUSPARSE_SPMV_CSR_ALG1, 2 is CUSPARSE_SPMV_CSR_ALG2, the reproducible one.

#include <cusparse.h>

#include "core/array.hpp"
#include "formats/common/rules.hpp"
#include "formats/common/turns.hpp"
#include "formats/format.hpp"

namespace autospmv::formats::cusparse_csr {

namespace {

void check(cusparseStatus_t status, std::source_location where = std::source_location::current()) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  throw DeviceError(std::string("cuSPARSE: ") + cusparseGetErrorString(status) + " (at line " +
                    std::to_string(where.line()) + " of cusparse_csr)");
}

template <class T>
constexpr cudaDataType_t data_type = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;

// A descriptor of cuSPARSE with its own destroy function.
template <class Handle, auto destroy>
struct Owned {
  Handle handle = nullptr;
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle != nullptr) static_cast<void>(destroy(handle));
  }
};

template <class T>
class CusparseOperator final : public Operator<T> {
 public:
  CusparseOperator(const CsrView<T>& matrix, cusparseSpMVAlg_t algorithm, const Device& device)
      : rows_(matrix.rows), cols_(matrix.cols), algorithm_(algorithm), place_(device) {
    check(cusparseCreate(&library_.handle));
    // cuSPARSE takes pointers to constants only in its constant descriptors, which SpMV accepts as well.
    check(cusparseCreateConstCsr(&matrix_.handle, matrix.rows, matrix.cols, matrix.nnz, std::get<0>(matrix.row_ptr),
                                 matrix.col_idx, matrix.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                 CUSPARSE_INDEX_BASE_ZERO, data_type<T>));
    // Any pointers do until the first product: the analysis reads the matrix only.
    check(cusparseCreateConstDnVec(&x_.handle, cols_, matrix.values, data_type<T>));
    check(cusparseCreateDnVec(&y_.handle, rows_, const_cast<T*>(matrix.values), data_type<T>));
    const T one = 1;
    const T zero = 0;
    std::size_t bytes = 0;
    check(cusparseSpMV_bufferSize(library_.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_.handle, x_.handle,
                                  &zero, y_.handle, data_type<T>, algorithm_, &bytes));
    buffer_ = Array<std::uint8_t>(bytes, device);
    const auto stream = setup_stream(device);
    check(cusparseSetStream(library_.handle, stream.handle));
    check(cusparseSpMV_preprocess(library_.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_.handle, x_.handle,
                                  &zero, y_.handle, data_type<T>, algorithm_, buffer_.data()));
    synchronize(device, stream);
  }

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    // The library handle, the vector descriptors and the external buffer serve one product at a time.
    turns_.take(stream, [&] {
      check(cusparseSetStream(library_.handle, stream.handle));
      check(cusparseDnVecSetValues(x_as_mutable(), const_cast<T*>(x)));
      check(cusparseDnVecSetValues(y_.handle, y));
      check(cusparseSpMV(library_.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, matrix_.handle, x_.handle, &beta,
                         y_.handle, data_type<T>, algorithm_, buffer_bytes()));
    });
  }

  void update_values(const CsrView<T>& matrix, Stream /*stream*/) override {
    turns_.pause([&] {
      check(cusparseSpMatSetValues(const_cast<cusparseSpMatDescr_t>(matrix_.handle), const_cast<T*>(matrix.values)));
    });
  }

  [[nodiscard]] std::int64_t bytes() const override { return buffer_.bytes(); }

 private:
  [[nodiscard]] cusparseDnVecDescr_t x_as_mutable() const { return const_cast<cusparseDnVecDescr_t>(x_.handle); }
  [[nodiscard]] void* buffer_bytes() const { return const_cast<std::uint8_t*>(buffer_.data()); }

  std::int64_t rows_;
  std::int64_t cols_;
  cusparseSpMVAlg_t algorithm_;
  Place place_;
  Array<std::uint8_t> buffer_;
  Owned<cusparseHandle_t, cusparseDestroy> library_;
  Owned<cusparseConstSpMatDescr_t, cusparseDestroySpMat> matrix_;
  Owned<cusparseConstDnVecDescr_t, cusparseDestroyDnVec> x_;
  Owned<cusparseDnVecDescr_t, cusparseDestroyDnVec> y_;
  Turns turns_;
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
                                 .baseline = true};
    return info;
  }

  [[nodiscard]] bool deterministic(const Params& params, const Device& /*device*/) const override {
    return params.find("algorithm") == 2;
  }

  [[nodiscard]] ParamSpace params(const Features& /*features*/, const Device& /*device*/) const override {
    return {{"algorithm", {1, 2}}};
  }

  [[nodiscard]] Result<Cost> predict(const Features& features, const Params& params,
                                     const Device& device) const override {
    if (auto refusal = refuse(features.rows, features.cols, features.nnz, params, device)) return *refusal;
    Cost cost;
    cost.bytes = csr_bytes<T>(features.rows, features.nnz) + vector_bytes<T>(features);
    cost.launches = params["algorithm"] == 1 ? 2 : 3;
    return cost;
  }

  [[nodiscard]] Result<std::unique_ptr<Operator<T>>> build(const CsrView<T>& matrix, const Params& params,
                                                           const Device& device) const override {
    if (auto refusal = refuse(matrix.rows, matrix.cols, matrix.nnz, params, device)) return *refusal;
    const DeviceScope scope(device);
    const auto algorithm = params["algorithm"] == 1 ? CUSPARSE_SPMV_CSR_ALG1 : CUSPARSE_SPMV_CSR_ALG2;
    return std::unique_ptr<Operator<T>>(std::make_unique<CusparseOperator<T>>(matrix, algorithm, device));
  }

 private:
  static std::optional<Refusal> refuse(std::int64_t rows, std::int64_t cols, std::int64_t nnz, const Params& params,
                                       const Device& device) {
    if (device.backend != Backend::cuda) return Refusal{"backend: cuSPARSE runs on CUDA devices only"};
    if (nnz > max_narrow_nnz) return Refusal{"size: 64-bit row offsets would need 64-bit columns too"};
    if (rows == 0 || cols == 0 || nnz == 0) return Refusal{"size: cuSPARSE takes no empty matrix"};
    if (nnz > rows * cols) return Refusal{"duplicates: cuSPARSE takes no more nonzeros than rows x columns"};
    return refuse_params(params, {{"algorithm", {1, 2}}});
  }
};

}  // namespace

template <class T>
const Format<T>& format() {
  static const CusparseCsr<T> instance;
  return instance;
}

template const Format<float>& format();
template const Format<double>& format();

}  // namespace autospmv::formats::cusparse_csr
