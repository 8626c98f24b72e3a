#include "tuner/auto_spmv.hpp"

#include <string>

#include "core/array.hpp"
#include "core/error.hpp"
#include "tuner/tuner.hpp"

namespace autospmv {

namespace {

void check_length(const char* name, std::size_t length, std::int64_t wanted) {
  if (static_cast<std::int64_t>(length) != wanted) {
    throw InvalidArgument(std::string(name) + " has " + std::to_string(length) + " elements, the matrix wants " +
                          std::to_string(wanted));
  }
}

// Vectors in host memory, a plan on a CUDA device: there and back.
template <class T>
void apply_staged(const Plan<T>& plan, std::span<const T> x, std::span<T> y, const SpmvOptions<T>& options) {
  const auto place = plan.place();
  const auto stream = setup_stream(place);
  order_after(place, stream, options.stream);
  auto device_x = Array<T>(x.size(), place);
  auto device_y = Array<T>(y.size(), place);
  device_x.assign(x, stream);
  if (options.beta != T{0}) device_y.assign(y, stream);
  plan.apply(options.alpha, device_x.data(), options.beta, device_y.data(), stream);
  copy_bytes(y.data(), device_y.data(), y.size_bytes(), place, stream);
  synchronize(place, stream);
}

}  // namespace

template <Scalar T>
std::shared_ptr<const Plan<T>> plan_for(const Matrix<T>& matrix, const Context& context) {
  // Only tune() attaches under a context's id, and only plans.
  if (auto attached = matrix.attachment(context.id())) return std::static_pointer_cast<const Plan<T>>(attached);
  return tune(matrix, context, {.label = {}, .progress = {}, .report = false, .again = false}).plan;
}

template <Scalar T>
void auto_spmv(const Matrix<T>& matrix, detail::ConstVector<T> x, detail::Vector<T> y,
               const SpmvOptions<std::type_identity_t<T>>& options) {
  check_length("x", x.size(), matrix.cols());
  check_length("y", y.size(), matrix.rows());
  if (y.empty()) return;
  const auto& context = options.context != nullptr ? *options.context : Context::instance();
  const auto plan = plan_for(matrix, context);
  const auto place = plan->place();
  const DeviceScope scope(place);
  const bool on_device = memory_at(y.data()) == Memory::device;
  if (!x.empty() && on_device != (memory_at(x.data()) == Memory::device)) {
    throw InvalidArgument("x and y must lie in the same memory");
  }
  if (place.backend == Backend::cuda && !on_device) {
    apply_staged(*plan, x, y, options);
  } else if (place.backend == Backend::host && on_device) {
    throw InvalidArgument("x and y lie in device memory, but the context's products run on the host");
  } else {
    plan->apply(options.alpha, x.data(), options.beta, y.data(), options.stream);
  }
}

#define AUTOSPMV_PRODUCT(T)                                                           \
  template std::shared_ptr<const Plan<T>> plan_for(const Matrix<T>&, const Context&); \
  template void auto_spmv(const Matrix<T>&, detail::ConstVector<T>, detail::Vector<T>, const SpmvOptions<T>&);
AUTOSPMV_PRODUCT(float)
AUTOSPMV_PRODUCT(double)
#undef AUTOSPMV_PRODUCT

}  // namespace autospmv
