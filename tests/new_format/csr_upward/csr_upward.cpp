// csr_upward: CSR as it is, on the host, each row summed from its last entry to its first. Nobody needs it: it shows
// that a format is added by its folder.

#include <memory>
#include <variant>

#include "core/machine/parallel.hpp"
#include "formats/common/operators.hpp"
#include "formats/common/predict/host_work.hpp"

namespace autospmv::formats::csr_upward {

namespace {

template <class T>
class UpwardOperator final : public CsrOperator<T> {
 public:
  UpwardOperator(const CsrView<T>& matrix, Place place) : CsrOperator<T>(matrix, place) {}

  void apply(T alpha, const T* x, T beta, T* y, Stream /*stream*/) const override {
    const auto& matrix = this->matrix_;
    const auto multiply = [&](const auto* row_ptr) {
      parallel_for(matrix.rows, [&](std::int64_t row) {
        T sum = 0;
        for (auto k = row_ptr[row + 1]; k > row_ptr[row]; --k) {
          sum += matrix.values[k - 1] * x[matrix.col_idx[k - 1]];
        }
        y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
      });
    };
    std::visit(multiply, matrix.row_ptr);
  }
};

template <class T>
class CsrUpward final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{.name = "csr_upward",
                                 .summary = "CSR, rows summed from their ends",
                                 .paper = "none",
                                 .backends = {Backend::host}};
    return info;
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& /*params*/,
                                  const Device& /*device*/) const override {
    Cost cost;
    cost.bytes = csr_bytes<T>(features.rows, features.nnz) + vector_bytes<T>(features);
    cost.work = work_of_rows(features, {.entry = 0.2, .row = 0.4});
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& /*params*/,
                                 const Device& device) const override {
    return std::unique_ptr<Operator<T>>(std::make_unique<UpwardOperator<T>>(matrix, device));
  }
};

}  // namespace

AUTOSPMV_FORMAT(CsrUpward);

}  // namespace autospmv::formats::csr_upward
