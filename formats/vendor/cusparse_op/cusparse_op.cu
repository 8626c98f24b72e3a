// cusparse_op: the vendor's newer product by CSR, made into a plan for one matrix, by CUSPARSE_SPMVOP_ALG1. The vendor
// calls it experimental; toolkits before 13.3 lack it, and the build leaves this folder out. Plans by the other
// algorithm, and those of toolkits before, do not take new values as an operator must.

#include "formats/common/predict/walks.hpp"
#include "formats/vendor/cusparse.hpp"

namespace autospmv::formats::cusparse_op {

namespace {

// The plan goes before what it was made from.
struct Planned {
  cusparse::MatrixDescriptor matrix;
  cusparse::Owned<cusparseDnVecDescr_t, cusparse::loaded::cusparseDestroyDnVec> x;
  cusparse::Owned<cusparseDnVecDescr_t, cusparse::loaded::cusparseDestroyDnVec> y;
  Array<std::uint8_t> buffer;
  cusparse::Owned<cusparseSpMVOpDescr_t, cusparse::loaded::cusparseSpMVOp_destroyDescr> descriptor;
  cusparse::Owned<cusparseSpMVOpPlan_t, cusparse::loaded::cusparseSpMVOp_destroyPlan> plan;

  [[nodiscard]] std::int64_t bytes() const { return buffer.bytes(); }
};

template <class T>
class CusparseOpOperator final : public Operator<T> {
 public:
  CusparseOpOperator(const CsrView<T>& matrix, const Device& device)
      : library_(cusparse::open_library(device)),
        matrix_(matrix),
        place_(device),
        planned_(device, [this] { return make_plan(); }) {
    synchronize(place_, setup_stream(place_));
  }

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    planned_.use(stream, [&](Planned& planned) {
      cusparse::check(cusparse::loaded::cusparseSetStream(library_.get(), stream.handle));
      cusparse::check(cusparse::loaded::cusparseDnVecSetValues(planned.x.get(), const_cast<T*>(x)));
      cusparse::check(cusparse::loaded::cusparseDnVecSetValues(planned.y.get(), y));
      cusparse::check(cusparse::loaded::cusparseSpMVOp(library_.get(), planned.plan.get(), &alpha, &beta,
                                                       planned.x.get(), planned.y.get(), planned.y.get()));
    });
  }

  bool update_values(const CsrView<T>& /*matrix*/, Stream /*stream*/) override { return true; }

  [[nodiscard]] std::int64_t bytes() const override { return planned_.bytes(); }

 private:
  [[nodiscard]] Planned make_plan() const {
    Planned planned;
    planned.matrix = cusparse::describe_csr(matrix_);
    // Any pointers do until the first product.
    auto* anywhere = const_cast<T*>(matrix_.values);
    cusparse::check(
        cusparse::loaded::cusparseCreateDnVec(planned.x.put(), matrix_.cols, anywhere, cusparse::data_type<T>));
    cusparse::check(
        cusparse::loaded::cusparseCreateDnVec(planned.y.put(), matrix_.rows, anywhere, cusparse::data_type<T>));
    cusparse::check(cusparse::loaded::cusparseSetStream(library_.get(), setup_stream(place_).handle));
    constexpr auto type = cusparse::data_type<T>;
    constexpr auto operation = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const auto y = planned.y.get();
    std::size_t bytes = 0;
    cusparse::check(cusparse::loaded::cusparseSpMVOp_bufferSize(
        library_.get(), operation, planned.matrix.get(), planned.x.get(), y, y, type, CUSPARSE_SPMVOP_ALG1, &bytes));
    planned.buffer = Array<std::uint8_t>(bytes, place_);
    cusparse::check(cusparse::loaded::cusparseSpMVOp_createDescr(library_.get(), planned.descriptor.put(), operation,
                                                                 planned.matrix.get(), planned.x.get(), y, y, type,
                                                                 CUSPARSE_SPMVOP_ALG1, planned.buffer.data()));
    // Without code of a caller's own for what becomes of each sum.
    cusparse::check(cusparse::loaded::cusparseSpMVOp_createPlan(library_.get(), planned.descriptor.get(),
                                                                planned.plan.put(), nullptr, 0));
    return planned;
  }

  cusparse::Library library_;
  CsrView<T> matrix_;
  Place place_;
  Scratch<Planned> planned_;
};

template <class T>
class CusparseOp final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{.name = "cusparse_op",
                                 .version = 1,
                                 .summary = "the vendor's product by CSR, made into a plan",
                                 .paper = "NVIDIA, cuSPARSE library, cusparseSpMVOp()",
                                 .backends = {Backend::cuda},
                                 .deterministic = false,
                                 .vendor = true};
    return info;
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& /*params*/,
                                  const Device& /*device*/) const override {
    if (auto refusal = cusparse::refuse(features)) return *refusal;
    if (!cusparse::loaded::cusparseSpMVOp_createPlan.may_be_there()) return too_old();
    Cost cost;
    cost.bytes = csr_bytes<T>(features.rows, features.nnz) + vector_bytes<T>(features);
    cost.walk = walk_of_shares(static_cast<double>(features.nnz), cusparse::entries_of_thread);
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& /*params*/,
                                 const Device& device) const override {
    if (auto refusal = cusparse::refuse(matrix)) return *refusal;
    if (!cusparse::loaded::cusparseSpMVOp_createPlan.is_there()) return too_old();
    const DeviceScope scope(device);
    return std::unique_ptr<Operator<T>>(std::make_unique<CusparseOpOperator<T>>(matrix, device));
  }

 private:
  static Refusal too_old() { return {"library: the cuSPARSE of this machine is older than this product"}; }
};

}  // namespace

AUTOSPMV_FORMAT(CusparseOp);

}  // namespace autospmv::formats::cusparse_op
