#include "array.hpp"

#include <utility>

#include <autospmv/error.hpp>

namespace autospmv::python {

namespace {

std::string name_of(nanobind::dlpack::dtype dtype) {
  if (dtype == nanobind::dtype<float>()) return dtype_name<float>();
  if (dtype == nanobind::dtype<double>()) return dtype_name<double>();
  if (dtype == nanobind::dtype<std::int32_t>()) return dtype_name<std::int32_t>();
  if (dtype == nanobind::dtype<std::int64_t>()) return dtype_name<std::int64_t>();
  return "another type";
}

void check_cuda() {
#ifndef AUTOSPMV_PYTHON_CUDA
  throw Unsupported("arrays on a CUDA device: this build of the package has no CUDA");
#endif
}

}  // namespace

Array::Array(const AnyArray& array)
    : array_(array),
      address_(reinterpret_cast<std::uintptr_t>(array.data())),
      size_(array.size()),
      dtype_(name_of(array.dtype())) {
  if (array.ndim() != 1) refuse_type("an array has " + std::to_string(array.ndim()) + " dimensions, not 1");
  switch (array.device_type()) {
    case nanobind::device::cpu::value:
      break;
    case nanobind::device::cuda::value:
    case nanobind::device::cuda_managed::value:
      check_cuda();
      memory_ = Memory::device;
      break;
    default:
      refuse_type("an array lies neither in host memory nor on a CUDA device");
  }
}

Array::Array(std::uintptr_t address, std::size_t size, std::string dtype, nanobind::object owner)
    : owner_(std::move(owner)), address_(address), size_(size), dtype_(std::move(dtype)), memory_(Memory::device) {
  check_cuda();
}

}  // namespace autospmv::python
