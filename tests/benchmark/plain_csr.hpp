// What benchmarks hold ours against: what users write who use no library, and on a CUDA device cuSPARSE's CSR.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <autospmv/autospmv.hpp>

#include "core/matrix/matrix_data.hpp"
#include "formats/format.hpp"
#include "io/host_csr.hpp"

namespace autospmv::benchmark {

template <class T>
class PlainCsr {
 public:
  /// Of `matrix`, which is that of `csr`, as one that is on the device already; both stay where they are.
  PlainCsr(const HostCsr<T>& csr, const Matrix<T>& matrix, const Device& device) : csr_(csr) {
    if (device.backend == Backend::host) return;
    Params first;
    first.set("algorithm", 1);
    auto built = find_format<T>("cusparse_csr")->build(data_of(matrix).on(device), first, device);
    if (!built) throw Error(built.reason());
    vendor_ = std::move(*built);
  }

  /// y = A x; on a device it is only ordered, on its default stream.
  void operator()(const T* x, T* y) const {
    if (vendor_ == nullptr) return loop(x, y);
    vendor_->apply(T{1}, x, T{0}, y, {});
  }
  [[nodiscard]] std::string name() const { return vendor_ == nullptr ? "plain loop" : "cusparse_csr algorithm=1"; }

 private:
  void loop(const T* x, T* y) const {
    const auto* row_ptr = csr_.row_ptr.data();
    const auto* columns = csr_.col_idx.data();
    const auto* values = csr_.values.data();
    const auto rows = csr_.rows;
#pragma omp parallel for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      T sum = 0;
      for (auto k = row_ptr[row]; k < row_ptr[row + 1]; ++k) sum += values[k] * x[columns[k]];
      y[row] = sum;
    }
  }

  const HostCsr<T>& csr_;
  std::unique_ptr<Operator<T>> vendor_;  // nullptr on the host
};

}  // namespace autospmv::benchmark
