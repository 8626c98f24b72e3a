#include "autospmv/plan.hpp"

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "autospmv/autospmv.hpp"
#include "core/error.hpp"
#include "core/machine/array.hpp"
#include "core/machine/shortage.hpp"
#include "core/machine/turns.hpp"
#include "formats/csr/csr_rows.hpp"
#include "formats/csr/csr_transposed.hpp"
#include "tuner/plan/plan_state.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv {

namespace {

void check_length(const char* name, std::size_t length, std::int64_t wanted) {
  if (static_cast<std::int64_t>(length) != wanted) {
    throw InvalidArgument(std::string(name) + " has " + std::to_string(length) + " elements, the matrix wants " +
                          std::to_string(wanted));
  }
}

// The product that takes no memory: plain CSR from the matrix's own arrays, column by column where it is transposed.
// False where x and y do not lie beside them.
template <class T>
bool multiply_without_plan(const MatrixData<T>& matrix, Operation op, std::span<const T> x, std::span<T> y,
                           const ApplyOptions<T>& options) {
  const auto place = matrix.home();
  const auto memory = options.memory ? *options.memory : memory_at(y.data());
  if ((memory == Memory::device) != (place.backend == Backend::cuda)) return false;
  const auto values = matrix.hold_values();
  const DeviceScope scope(place);
  const auto view = matrix.on(place);
  if (op == Operation::transposed) {
    formats::multiply_transposed(view, options.alpha, x.data(), options.beta, y.data(), place, options.stream);
  } else {
    formats::CsrRowsOperator<T>(view, {}, place).apply(options.alpha, x.data(), options.beta, y.data(), options.stream);
  }
  return true;
}

}  // namespace

namespace detail {

template <class T>
PlanState<T>::PlanState(TrialRecord choice, std::unique_ptr<LiveOperator<T>> op,
                        std::shared_ptr<const MatrixData<T>> matrix, Place place, PlanOrigin origin)
    : matrix_(std::move(matrix)),
      choice_(std::move(choice)),
      operator_(std::move(op)),
      place_(place),
      origin_(std::move(origin)) {}

template <class T>
PlanState<T>::~PlanState() {
  if (online_) online_->stop();
  try {
    synchronize(place_);
  } catch (const Error&) {
    // The device failed, so nothing runs on it any more.
  }
}

// Where there is no memory for it, the plan stays as it is.
template <class T>
void PlanState<T>::go_online(std::shared_ptr<Service> service, OnlineTask<T> task, std::optional<Stream> multiplied) {
  online_ = std::make_shared<Online<T>>(std::move(service), std::move(task), choice_, std::move(operator_));
  online_->begin(multiplied);
}

template <class T>
bool PlanState<T>::takes_any_values() const {
  return with_follower([](const auto& follower) { return follower.takes_any_values(); });
}

template <class T>
void PlanState<T>::drain() {
  with_follower([](auto& follower) { follower.drain(); });
}

template <class T>
void PlanState<T>::prepare(const CsrView<T>& next, Stream stream) {
  with_follower([&](auto& follower) { follower.prepare(next, stream); });
}

template <class T>
void PlanState<T>::abandon(const CsrView<T>& former, Stream stream) {
  with_follower([&](auto& follower) { follower.abandon(former, stream); });
}

template <class T>
void PlanState<T>::commit(const CsrView<T>& next, Stream stream) {
  with_follower([&](auto& follower) { follower.commit(next, stream); });
}

// Found out by one question to the driver, which also knows the device.
template <class T>
Memory PlanState<T>::memory_of(const char* name, const T* vector) const {
  const auto at = place_at(vector);
  if (at.memory() == Memory::device && place_.backend == Backend::cuda && at.ordinal != place_.ordinal) {
    throw InvalidArgument(std::string(name) + " lies on CUDA device " + std::to_string(at.ordinal) +
                          ", but the plan's products run on device " + std::to_string(place_.ordinal));
  }
  return at.memory();
}

// Vectors in host memory, a plan on a CUDA device: there and back.
template <class T>
bool PlanState<T>::multiply_staged(std::span<const T> x, std::span<T> y, const ApplyOptions<T>& options) const {
  const auto stream = setup_stream(place_);
  Array<T> device_x;
  Array<T> device_y;
  try {
    order_after(place_, stream, options.stream);
    device_x = Array<T>(x.size(), place_);
    device_y = Array<T>(y.size(), place_);
  } catch (const OutOfMemory&) {
    synchronize(place_, options.stream);
    return false;
  }
  device_x.assign(x, stream);
  if (options.beta != T{0}) device_y.assign(y, stream);
  apply(options.alpha, device_x.data(), options.beta, device_y.data(), stream);
  copy_bytes(y.data(), device_y.data(), y.size_bytes(), place_, stream);
  synchronize(place_, stream);
  return true;
}

// x lies where y does: to ask for both would cost as much as the launch.
template <class T>
void PlanState<T>::multiply(std::span<const T> x, std::span<T> y, const ApplyOptions<T>& options) const {
  check_length("x", x.size(), matrix_->cols());
  check_length("y", y.size(), matrix_->rows());
  if (y.empty()) return;
  const DeviceScope scope(place_);
  if (online_) online_->await_device(options.stream);
  std::optional<DriverTurn> turn(place_.backend);  // one for all that a product asks
  const auto memory = options.memory ? *options.memory : memory_of("y", y.data());
  if (place_.backend == Backend::cuda && memory == Memory::host) {
    turn.reset();
    if (!x.empty() && !options.memory && memory_at(x.data()) == Memory::device) {
      throw InvalidArgument("x and y must lie in the same memory");
    }
    if (multiply_staged(x, y, options) ||
        multiply_without_plan(matrix_->original(), matrix_->operation(), x, y, options))
      return;
    throw OutOfMemory("out of memory: the device has none for x and y, and the matrix lies there too");
  } else if (place_.backend == Backend::host && memory == Memory::device) {
    throw InvalidArgument("x and y lie in device memory, but the plan's products run on the host");
  } else {
    apply(options.alpha, x.data(), options.beta, y.data(), options.stream);
  }
}

template <class T>
bool PlanState<T>::multiply_first(std::span<const T> x, std::span<T> y, const ApplyOptions<T>& options) const {
  if (place_.backend == Backend::host || is_capturing(place_, options.stream)) return false;
  const DriverTurn turn(place_.backend);
  const auto memory = options.memory ? *options.memory : memory_of("y", y.data());
  if (memory == Memory::host) return false;
  apply(options.alpha, x.data(), options.beta, y.data(), options.stream);
  return true;
}

template class PlanState<float>;
template class PlanState<double>;

}  // namespace detail

template <Scalar T>
void Plan<T>::operator()(std::span<const T> x, std::span<T> y, const ApplyOptions<T>& options) const {
  state_->multiply(x, y, options);
}

template <Scalar T>
Place Plan<T>::device() const {
  return state_->place();
}

template <Scalar T>
std::string Plan<T>::choice() const {
  return state_->choice().candidate.text();
}

template <Scalar T>
std::int64_t Plan<T>::bytes() const {
  return state_->bytes();
}

template <Scalar T>
bool Plan<T>::settled() const {
  return state_->settled();
}

template <Scalar T>
Explanation Plan<T>::explain() const {
  return explanation_of(*state_);
}

template class Plan<float>;
template class Plan<double>;

const char* version() { return AUTOSPMV_VERSION; }

template <Scalar T>
Plan<T> make_plan(const Matrix<T>& matrix, const Context& context, const PlanOptions& options) {
  TuneOptions how;
  how.op = options.op;
  how.label = options.label;
  // Who makes a plan waits for it, and wants the best.
  const auto& service = service_of(context);
  const auto kept = service.effort();
  how.effort = options.effort.value_or(kept == Effort::online ? Effort::measure : kept);
  how.limits = options.limits;
  how.only = parse_choices(options.only);
  how.report = false;
  how.keep = false;
  how.progress = service.progress();
  how.stop = service.stop();
  return detail::Access::handle_of<Plan<T>>(tune(matrix, context, how).plan);
}

template <Scalar T>
Plan<T> kept_plan(const Matrix<T>& matrix, const Context& context, Operation op) {
  return detail::Access::handle_of<Plan<T>>(plan_for(matrix, context, op));
}

template <Scalar T>
void auto_spmv(const Matrix<T>& matrix, std::type_identity_t<std::span<const T>> x,
               std::type_identity_t<std::span<T>> y, const SpmvOptions<std::type_identity_t<T>>& options) {
  // Before a plan is made: it may take long.
  const bool transposed = options.op == Operation::transposed;
  check_length("x", x.size(), transposed ? matrix.rows() : matrix.cols());
  check_length("y", y.size(), transposed ? matrix.cols() : matrix.rows());
  if (y.empty()) return;
  const ApplyOptions<T> how{options.alpha, options.beta, options.stream, options.memory};
  std::shared_ptr<detail::PlanState<T>> plan;
  FirstProduct<T> product{x, y, how};
  try {
    plan = plan_for(matrix, options.context != nullptr ? *options.context : Context::instance(), options.op, &product);
  } catch (const std::exception&) {
    if (shortage_in_hand() == nullptr) throw;
    if (!product.done && !multiply_without_plan<T>(data_of(matrix), options.op, x, y, how)) throw;
    return;
  }
  if (!product.done) plan->multiply(x, y, how);
}

#define AUTOSPMV_PRODUCT(T)                                                           \
  template Plan<T> make_plan(const Matrix<T>&, const Context&, const PlanOptions&);   \
  template Plan<T> kept_plan(const Matrix<T>&, const Context&, Operation);            \
  template void auto_spmv(const Matrix<T>&, std::type_identity_t<std::span<const T>>, \
                          std::type_identity_t<std::span<T>>, const SpmvOptions<T>&);
AUTOSPMV_PRODUCT(float)
AUTOSPMV_PRODUCT(double)
#undef AUTOSPMV_PRODUCT

}  // namespace autospmv
