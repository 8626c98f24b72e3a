#include "formats/csr/csr_bound/csr_bound.hpp"

#include <cmath>

#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"
#include "formats/common/host/row_partition.hpp"
#include "formats/common/host/row_sum.hpp"
#include "formats/common/host/versions.hpp"
#include "formats/common/operators.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/walks.hpp"

namespace autospmv::formats::csr_bound {

namespace host {

namespace {

constexpr int longest_fragment = 4096;

// The rows that begin in each of some fragments. The products wait for no row to end, and the sums for no element of x.
template <class T, class Offset>
AUTOSPMV_INLINE void multiply_fragments(const CsrView<T>& matrix, const Offset* row_ptr, const Bounds& bounds,
                                        Share fragments, T alpha, const T* x, T beta, T* y) {
  T products[longest_fragment];
  for (auto fragment = fragments.first; fragment < fragments.last; ++fragment) {
    const Bound bound = bounds.rows[fragment];
    const std::int64_t first = bound.first + (bounds.begun_before(fragment) ? 1 : 0);
    if (first > bound.last) continue;
    const auto begin = static_cast<std::int64_t>(row_ptr[first]);
    const auto end = std::min(matrix.nnz, (fragment + 1) * bounds.length);
    for (auto k = begin; k < end; ++k) products[k - begin] = matrix.values[k] * x[matrix.col_idx[k]];
    auto k = begin;
    for (auto row = first; row <= bound.last; ++row) {
      const auto last = static_cast<std::int64_t>(row_ptr[row + 1]);
      const T* of_row = products + (k - begin);
      T sum = row_sum<4, T>(std::min(last, end) - k, [&](std::int64_t i) AUTOSPMV_INLINE_LAMBDA { return of_row[i]; });
      if (last > end) {
        sum += row_sum<4, T>(last - end, [&](std::int64_t i) AUTOSPMV_INLINE_LAMBDA {
          return matrix.values[end + i] * x[matrix.col_idx[end + i]];
        });
      }
      y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
      k = last;
    }
  }
}

#define AUTOSPMV_FRAGMENTS(T, Offset)                                                                             \
  AUTOSPMV_MULTIVERSION_SCALAR void fragments_version(const CsrView<T>& matrix, const Offset* row_ptr,            \
                                                      const Bounds& bounds, Share fragments, T alpha, const T* x, \
                                                      T beta, T* y) {                                             \
    multiply_fragments(matrix, row_ptr, bounds, fragments, alpha, x, beta, y);                                    \
  }
AUTOSPMV_EACH_OFFSET(AUTOSPMV_FRAGMENTS)
#undef AUTOSPMV_FRAGMENTS

template <class T>
class CsrBoundOperator final : public CsrOperator<T> {
 public:
  CsrBoundOperator(const CsrView<T>& matrix, int length)
      : CsrOperator<T>(matrix, Place{}),
        length_(length),
        bounds_(static_cast<std::size_t>(count_fragments(matrix.nnz, length)), {}) {
    if (matrix.rows == 0) return;
    with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
      parallel_for(fragments(), [&](std::int64_t fragment) {
        bounds_[static_cast<std::size_t>(fragment)] = bound_of(row_ptr, matrix.rows, fragments(), length, fragment);
      });
    });
  }

  void apply(T alpha, const T* x, T beta, T* y, Stream /*stream*/) const override {
    if (this->matrix_.rows == 0) return;
    const Bounds bounds{bounds_.data(), fragments(), length_};
    with_offsets(this->matrix_.row_ptr, [&](const auto* row_ptr) {
      for_each_taken(this->matrix_.nnz + this->matrix_.rows, [&](int share, int shares) {
        fragments_version(this->matrix_, row_ptr, bounds, share_of(fragments(), share, shares), alpha, x, beta, y);
      });
    });
  }

  [[nodiscard]] std::int64_t bytes() const override { return bounds_.bytes(); }

 private:
  [[nodiscard]] std::int64_t fragments() const { return static_cast<std::int64_t>(bounds_.size()); }

  int length_;
  Array<Bound> bounds_;
};

}  // namespace

}  // namespace host

namespace {

// How much longer a block takes for also adding up its rows. Reading where a row ends and adding up its lanes costs
// about as much as reading a nonzero, which is some 45 additions from shared memory.
double time_of_sums(const Features& features, const Params& params, double fragments) {
  constexpr double ends_of_row = 40;
  constexpr double nonzero = 45;
  const auto block = static_cast<double>(params["block"]);
  const auto length = static_cast<double>(params["fragment"]);
  const double rows = std::max(1.0, static_cast<double>(features.rows) / fragments);
  const auto chosen = std::clamp(std::exp2(std::floor(std::log2(block / rows))), 1.0, 32.0);
  const double threads = params["T"] > 0 ? static_cast<double>(params["T"]) : chosen;
  const double turns = std::ceil(rows * threads / block);
  const double additions = std::ceil(std::min(features.npr_mean, length) / threads);
  return 1 + turns * (ends_of_row + additions) / (nonzero * length / block);
}

template <class T>
class CsrBound final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "csr_bound",
        .version = 2,
        .summary = "CSR in fragments of equally many nonzeros, a block of threads each",
        .paper =
            "Yin, Zhang, Xu, Hu, He, \"Optimizing sparse matrix-vector multiplication based on GPU\", 2012, 5.2: "
            "CSR-B, with fragment = 1024, merge = 1, T = 16, block = 256",
        .offered = {Backend::cuda}};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    if (device.backend == Backend::host) return {{"fragment", {1024, 4096}}};
    // Short fragments where long ones would leave multiprocessors idle.
    const bool small = features.nnz < std::int64_t{4096} * device.multiprocessors;
    return {{"merge", features.npr_max > 16384 ? Values{1, 0} : Values{0, 1}},
            {"T", {0, 16}},
            {"fragment", small ? Values{512, 1024} : Values{1024, 2048}},
            {"block", {256}}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    const bool merge = params.find("merge") == 1;
    const auto fragments = static_cast<double>(count_fragments(features.nnz, params["fragment"]));
    const double bytes_of_fragment = sizeof(Bound) + (merge ? 2 * sizeof(T) : 0);
    Cost cost;
    cost.storage_bytes = fragments * bytes_of_fragment;
    cost.bytes = csr_bytes<T>(features.rows, features.nnz) + vector_bytes<T>(features) + cost.storage_bytes;
    if (device.backend == Backend::cuda) {
      const auto block = static_cast<double>(params["block"]);
      const double steps = static_cast<double>(params["fragment"]) / block * time_of_sums(features, params, fragments);
      // With merge = 0 a row is walked by one block, else by as many as it takes.
      const double of_row = merge ? 0 : static_cast<double>(features.npr_max) / block;
      cost.walk = {.threads = fragments * block, .steps = steps, .longest = std::max(steps, of_row)};
      add_sums(cost.walk);
      cost.launches = merge ? 2 : 1;
    } else {
      cost.work = work_of_rows(features, {.entry = 0.21, .row = 2});
    }
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    const auto length = static_cast<int>(params["fragment"]);
    return on_backend(
        device,
        [&] { return std::unique_ptr<Operator<T>>(std::make_unique<host::CsrBoundOperator<T>>(matrix, length)); },
        [&] {
          const Shape shape{length, params["merge"] == 1, static_cast<int>(params["T"]),
                            static_cast<int>(params["block"])};
          const DeviceScope scope(device);
          const auto stream = setup_stream(device);
          auto built = device::make_operator(matrix, shape, device, stream);
          synchronize(device, stream);
          return built;
        });
  }

 private:
  using Values = std::vector<std::int64_t>;

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    const Values lengths{512, 1024, 2048, host::longest_fragment};
    if (device.backend == Backend::host) return {{"fragment", lengths}};
    return {{"merge", {0, 1}}, {"T", {0, 1, 2, 4, 8, 16, 32}}, {"fragment", lengths}, {"block", {128, 256, 512}}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(CsrBound);

}  // namespace autospmv::formats::csr_bound
