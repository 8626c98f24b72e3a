#include "formats/staged/pcsr/pcsr.hpp"

#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"
#include "formats/common/host/row_partition.hpp"
#include "formats/common/host/row_sum.hpp"
#include "formats/common/operators.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/common/streams/scratch.hpp"
#include "formats/format.hpp"

namespace autospmv::formats::pcsr {

namespace host {

template <class T>
void multiply(const CsrView<T>& matrix, T* products, T alpha, const T* x, T beta, T* y) {
  constexpr int lanes = 4;
  parallel_for(matrix.nnz, [&](std::int64_t k) { products[k] = matrix.values[k] * x[matrix.col_idx[k]]; });
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    for_each_share(row_ptr, matrix.rows, [&](Share rows) {
      for (std::int64_t row = rows.first; row < rows.last; ++row) {
        const T* of_row = products + row_ptr[row];
        const T sum = row_sum<lanes, T>(row_ptr[row + 1] - row_ptr[row], [&](std::int64_t k) { return of_row[k]; });
        y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
      }
    });
  });
}

}  // namespace host

namespace {

template <class T>
class PcsrOperator final : public CsrOperator<T> {
 public:
  PcsrOperator(const CsrView<T>& matrix, const Shape& shape, Place place)
      : CsrOperator<T>(matrix, place),
        shape_(shape),
        products_(place, [size = static_cast<std::size_t>(matrix.nnz), place] { return Array<T>(size, place); }) {}

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    products_.use(stream, [&](Array<T>& products) {
      on_backend(
          this->place_, [&] { host::multiply(this->matrix_, products.data(), alpha, x, beta, y); },
          [&] { device::multiply(this->matrix_, shape_, products.data(), alpha, x, beta, y, stream); });
    });
  }

  [[nodiscard]] std::int64_t bytes() const override { return products_.bytes(); }

 private:
  Shape shape_;
  Scratch<Array<T>> products_;
};

template <class T>
class Pcsr final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "pcsr",
        .version = 1,
        .summary = "CSR by two kernels: all products, then their sums, staged",
        .paper =
            "Gao, Liang, Wang, \"Research on the conjugate gradient algorithm with a modified incomplete Cholesky "
            "preconditioner on GPU\", 2014; Gao, Qi, He, \"Efficient CSR-based sparse matrix-vector multiplication on "
            "GPU\", 2016, Algorithms 1 and 2",
        .offered = {}};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& /*features*/, const Device& device) const override {
    if (device.backend == Backend::host) return {};
    return {{"block", {256, 128}}, {"SHARED_SIZE", {2048, 1024}}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& /*params*/,
                                  const Device& device) const override {
    const double csr = csr_bytes<T>(features.rows, features.nnz);
    Cost cost;
    cost.storage_bytes = static_cast<double>(features.nnz) * sizeof(T);
    if (auto refusal = refuse_storage(cost.storage_bytes, csr, device)) return *refusal;
    cost.bytes = csr + 2 * cost.storage_bytes + vector_bytes<T>(features);
    cost.launches = 2;
    if (device.backend == Backend::cuda && features.nnz > 0) {
      // A thread a nonzero; then a thread a row, however long, which adds up what lies in shared memory: twice as fast.
      const auto nnz = static_cast<double>(features.nnz);
      const auto rows = static_cast<double>(features.rows);
      cost.walk = {.threads = nnz + rows,
                   .steps = (nnz + rows * (features.npr_mean / 2 + 2)) / (nnz + rows),
                   .longest = static_cast<double>(features.npr_max)};
    }
    if (device.backend == Backend::host) cost.work = work_of_rows(features, {.entry = 0.46, .row = 3});
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    const double bytes = static_cast<double>(matrix.nnz) * sizeof(T);
    if (auto refusal = refuse_allocation(bytes, matrix, device)) return *refusal;
    const DeviceScope scope(device);
    Shape shape{.multiprocessors = std::max(1, device.multiprocessors)};
    if (device.backend == Backend::cuda) {
      shape.block = static_cast<int>(params["block"]);
      shape.shared_size = params["SHARED_SIZE"];
    }
    auto op = std::make_unique<PcsrOperator<T>>(matrix, shape, device);
    synchronize(device, setup_stream(device));
    return std::unique_ptr<Operator<T>>(std::move(op));
  }

 private:
  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    if (device.backend == Backend::host) return {};
    return {{"block", {128, 256, 512}}, {"SHARED_SIZE", {512, 1024, 2048, 4096}}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(Pcsr);

}  // namespace autospmv::formats::pcsr
