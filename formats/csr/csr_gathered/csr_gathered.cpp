#include "formats/csr/csr_gathered/csr_gathered.hpp"

#include <algorithm>

#include "core/machine/on_backend.hpp"
#include "formats/common/host/row_partition.hpp"
#include "formats/common/host/row_sum.hpp"
#include "formats/common/host/versions.hpp"
#include "formats/common/operators.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"

namespace autospmv::formats::csr_gathered {

namespace host {

namespace {

// Elements of x that are gathered at a time.
constexpr std::int64_t strip = 1024;

template <class T>
bool is_gathered(const CsrView<T>& matrix) {
  if (matrix.cols != matrix.nnz) return false;
  std::int64_t k = 0;
  while (k < matrix.nnz && matrix.col_idx[k] == k) ++k;
  return k == matrix.nnz;
}

template <int Lanes, class T, class Offset>
AUTOSPMV_INLINE void multiply_gathered(const CsrView<T>& matrix, const Offset* row_ptr, Share rows, T alpha, const T* x,
                                       T beta, T* y) {
  for (auto row = rows.first; row < rows.last; ++row) {
    const auto first = static_cast<std::int64_t>(row_ptr[row]);
    const T* values = matrix.values + first;
    const T* elements = x + first;
    const T sum = row_sum<Lanes, T>(row_ptr[row + 1] - first,
                                    [&](std::int64_t i) AUTOSPMV_INLINE_LAMBDA { return values[i] * elements[i]; });
    y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
  }
}

template <int Lanes, class T, class Offset>
AUTOSPMV_INLINE void multiply_rows(const CsrView<T>& matrix, const Offset* row_ptr, Share rows, T alpha, const T* x,
                                   T beta, T* y) {
  T gathered[strip];
  const auto end = static_cast<std::int64_t>(row_ptr[rows.last]);
  auto k = static_cast<std::int64_t>(row_ptr[rows.first]);
  auto first_gathered = k;
  auto last_gathered = k;
  for (auto row = rows.first; row < rows.last; ++row) {
    const auto last = static_cast<std::int64_t>(row_ptr[row + 1]);
    T sum = 0;
    while (k < last) {
      if (k == last_gathered) {
        first_gathered = k;
        last_gathered = std::min(end, k + strip);
        for (auto i = k; i < last_gathered; ++i) gathered[i - k] = x[matrix.col_idx[i]];
      }
      const auto until = std::min(last, last_gathered);
      const T* values = matrix.values + k;
      const T* elements = gathered + (k - first_gathered);
      sum +=
          row_sum<Lanes, T>(until - k, [&](std::int64_t i) AUTOSPMV_INLINE_LAMBDA { return values[i] * elements[i]; });
      k = until;
    }
    y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
  }
}

#define AUTOSPMV_ROWS(T, Offset)                                                                                \
  AUTOSPMV_MULTIVERSION_SCALAR void rows_version(const CsrView<T>& matrix, const Offset* row_ptr, Share rows,   \
                                                 int lanes, bool gathered, T alpha, const T* x, T beta, T* y) { \
    if (gathered && lanes == 4) return multiply_gathered<4>(matrix, row_ptr, rows, alpha, x, beta, y);          \
    if (gathered) return multiply_gathered<16>(matrix, row_ptr, rows, alpha, x, beta, y);                       \
    if (lanes == 4) return multiply_rows<4>(matrix, row_ptr, rows, alpha, x, beta, y);                          \
    multiply_rows<16>(matrix, row_ptr, rows, alpha, x, beta, y);                                                \
  }
AUTOSPMV_EACH_OFFSET(AUTOSPMV_ROWS)
#undef AUTOSPMV_ROWS

template <class T>
class CsrGatheredOperator final : public CsrOperator<T> {
 public:
  CsrGatheredOperator(const CsrView<T>& matrix, int lanes)
      : CsrOperator<T>(matrix, Place{}), lanes_(lanes), gathered_(is_gathered(matrix)) {}

  void apply(T alpha, const T* x, T beta, T* y, Stream /*stream*/) const override {
    with_offsets(this->matrix_.row_ptr, [&](const auto* row_ptr) {
      for_each_share(row_ptr, this->matrix_.rows, [&](Share rows) {
        rows_version(this->matrix_, row_ptr, rows, lanes_, gathered_, alpha, x, beta, y);
      });
    });
  }

 private:
  int lanes_;
  bool gathered_;
};

}  // namespace

}  // namespace host

namespace {

template <class T>
class CsrGathered final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "csr_gathered",
        .version = 1,
        .summary = "CSR, x gathered into the place of the columns, T threads a row",
        .paper =
            "Yin, Zhang, Xu, Hu, He, \"Optimizing sparse matrix-vector multiplication based on GPU\", 2012, 3.1: "
            "CSR-M, with T = 32 in table III and T = 16, block = 256 in 5.1",
        .offered = {}};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    if (device.backend == Backend::host) return {{"T", {4, 16}}};
    const auto threads = std::max<std::int64_t>(2, power_of_two_above(features.npr_mean / 2, 32));
    ParamSpace::Axis axis{"T", threads == 16 ? Values{16, 32} : Values{threads, 16}};
    // The paper's warp a row among them, whatever the rows are.
    for (const std::int64_t t : {32, 8, 4, 2}) {
      if (std::find(axis.values.begin(), axis.values.end(), t) == axis.values.end()) axis.others.push_back(t);
    }
    return {axis, {"block", {256}}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    Cost cost;
    cost.bytes = csr_bytes<T>(features.rows, features.nnz) + vector_bytes<T>(features);
    if (device.backend == Backend::host) {
      cost.work = work_of_rows(features, {.entry = 0.45, .row = 7.7});
      return cost;
    }
    cost.storage_bytes = gathered_bytes(features.nnz);
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    cost.bytes += 2 * cost.storage_bytes;  // written and read
    cost.launches = 2;
    cost.walk = walk_of_rows(features, static_cast<double>(params["T"]));
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    const auto threads = static_cast<int>(params["T"]);
    if (device.backend == Backend::cuda) {
      if (auto refusal = refuse_allocation(gathered_bytes(matrix.nnz), matrix, device)) return *refusal;
    }
    using Built = std::unique_ptr<Operator<T>>;
    return on_backend(
        device, [&]() -> Built { return std::make_unique<host::CsrGatheredOperator<T>>(matrix, threads); },
        [&] {
          return device::make_operator(matrix, {threads, static_cast<int>(params["block"])}, device);
        });
  }

 private:
  using Values = std::vector<std::int64_t>;

  static double gathered_bytes(std::int64_t nnz) { return static_cast<double>(nnz) * sizeof(T); }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    if (device.backend == Backend::host) return {{"T", {4, 16}}};
    return {{"T", {2, 4, 8, 16, 32}}, {"block", {128, 256, 512}}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(CsrGathered);

}  // namespace autospmv::formats::csr_gathered
