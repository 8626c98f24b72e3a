// What tests of formats start from.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/device.hpp"
#include "core/matrix/matrix_data.hpp"
#include "io/host_csr.hpp"

namespace autospmv::testing {

/// The host, and one CUDA device, where there is any, for all.
inline std::vector<Device> devices() {
  std::vector<Device> all{host_device()};
  if (const auto cuda = cuda_devices(); !cuda.empty()) all.push_back(cuda.front());
  return all;
}

/// What a GPU would be asked, whether there is one or not: enough for predictions, which need no device.
inline Device described_gpu() {
  Device device;
  device.backend = Backend::cuda;
  device.multiprocessors = 132;
  device.memory_bytes = std::int64_t{140} << 30;
  return device;
}

template <class T>
Matrix<T> matrix_of(const HostCsr<T>& source) {
  return Matrix<T>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values);
}

}  // namespace autospmv::testing
