#include "tuner/plan/tuner.hpp"

#include <utility>

#include "core/machine/shortage.hpp"
#include "features/recorded.hpp"
#include "tuner/context/keys.hpp"
#include "tuner/context/prospects.hpp"
#include "tuner/plan/recorded_session.hpp"
#include "tuner/plan/tuning.hpp"

namespace autospmv {

namespace {

// What is multiplied by: the matrix, or, where the device has memory for that, the matrix transposed.
template <class T>
std::shared_ptr<const MatrixData<T>> operand_of(const Matrix<T>& matrix, Operation op, Place place) {
  const std::shared_ptr<const MatrixData<T>> data = detail::Access::state_of(matrix)->data;
  return op == Operation::plain ? data : MatrixData<T>::transposed(data, place);
}

// As many candidates at a time as fit into half of the free memory; each batch is measured in interleaved rounds. With
// service.tuning() held.
template <class T>
std::vector<TrialRecord> bench_alone(const MatrixData<T>& matrix, Service& service, std::span<const FormatChoice> only,
                                     const TuneOptions& options) {
  const auto& device = service.device();
  const auto values = matrix.hold_values();
  const auto view = matrix.on(device);
  const auto key = key_of(matrix, device);
  const auto features = extract_features(view, device);
  give_up_if(options.stop);
  const auto prospects = prospects_of<T>(features, key, service, predictor_of<T>(features, key, service), only);
  RecordedSession<T> session(service, view, options.limits.value_or(service.limits()), options.stop);
  session.describe(key, {options.label, matrix.rows(), matrix.cols(), matrix.nnz(), view.bytes(), record_of(features),
                         options.source});
  std::vector<TrialRecord> records;
  std::int64_t kept_bytes = 0;
  const std::int64_t budget = free_memory(device) / 2;
  const auto finish_batch = [&] {
    if (!session.has_begun()) return;
    session.finish();
    const auto batch = session.records();
    records.insert(records.end(), batch.begin(), batch.end());
    session.end();
    kept_bytes = 0;
  };
  const auto try_one = [&](const Prospect& prospect) {
    if (!prospect.admitted()) {
      auto refused = untried(prospect);
      refused.measurement.outcome = Outcome::refused;
      refused.measurement.detail = prospect.refusal;
      session.add(refused);
      records.push_back(std::move(refused));
      return;
    }
    if (kept_bytes + static_cast<std::int64_t>(prospect.cost.storage_bytes) > budget) finish_batch();
    if (!session.has_begun()) session.begin(options.warm_only ? warm_bench_rules : bench_rules);
    kept_bytes += session.attempt(prospect).measurement.bytes;
  };
  session.keeping([&] {
    std::int64_t done = 0;
    for (const auto& prospect : prospects) {
      if (options.progress) {
        options.progress({done++, static_cast<std::int64_t>(prospects.size()), prospect.candidate.text()});
      }
      try_one(prospect);
    }
    finish_batch();
  });
  return records;
}

// What a tuning among these tries.
template <class T>
std::vector<FormatChoice> with_baselines(std::vector<FormatChoice> only, const Device& device) {
  if (only.empty()) return only;
  for (const auto* format : all_formats<T>()) {
    if (format->info().baseline && format->info().runs_on(device.backend)) only.push_back({format->info().name});
  }
  return only;
}

// With service.tuning() held.
template <class T>
Tuned<T> tune_alone(const Matrix<T>& matrix, const std::shared_ptr<Service>& service, const TuneOptions& options,
                    FirstProduct<T>* first = nullptr) {
  const DeviceScope scope(service->device());
  const auto& state = detail::Access::state_of(matrix);
  auto tuned = Tuning<T>(operand_of(matrix, options.op, service->device()), service, options,
                         with_baselines<T>(options.only, service->device()))
                   .tune(first);
  const auto keep = [&] {
    const auto& plans = state->kept_plans(options.op);
    if (plans->find(service.get()) == nullptr) service->remember(plans);
    plans->put(service.get(), tuned.plan);
  };
  // What cannot be kept is made again by the next product.
  if (options.keep) unless_short(keep, [](const char* /*shortage*/) {});
  return tuned;
}

template <class T>
std::shared_ptr<detail::PlanState<T>> find_plan(const Matrix<T>& matrix, const Service& service, Operation op) {
  const auto& plans = detail::Access::state_of(matrix)->kept_plans(op);
  return std::static_pointer_cast<detail::PlanState<T>>(plans->find(&service));
}

}  // namespace

template <Scalar T>
Tuned<T> tune(const Matrix<T>& matrix, const Context& context, const TuneOptions& options) {
  const auto& service = shared_service_of(context);
  check_choices<T>(options.only, service->device());
  const std::scoped_lock lock(service->tuning());
  return tune_alone(matrix, service, options);
}

template <Scalar T>
std::shared_ptr<detail::PlanState<T>> plan_for(const Matrix<T>& matrix, const Context& context, Operation op,
                                               FirstProduct<T>* first) {
  const auto& service = shared_service_of(context);
  if (auto kept = find_plan(matrix, *service, op)) return kept;
  const std::scoped_lock lock(service->tuning());
  // Another thread may have made it meanwhile.
  if (auto kept = find_plan(matrix, *service, op)) return kept;
  TuneOptions options;
  options.op = op;
  options.report = false;
  options.progress = service->progress();
  options.stop = service->stop();
  return tune_alone(matrix, service, options, first).plan;
}

template <Scalar T>
std::vector<TrialRecord> bench(const Matrix<T>& matrix, const Context& context, const std::vector<FormatChoice>& only,
                               const TuneOptions& options) {
  const auto& service = shared_service_of(context);
  check_choices<T>(only, service->device());
  const std::scoped_lock lock(service->tuning());
  const DeviceScope scope(service->device());
  return bench_alone(*operand_of(matrix, options.op, service->device()), *service, only, options);
}

#define AUTOSPMV_TUNER(T)                                                                                     \
  template std::shared_ptr<detail::PlanState<T>> plan_for(const Matrix<T>&, const Context&, Operation,        \
                                                          FirstProduct<T>*);                                  \
  template Tuned<T> tune(const Matrix<T>&, const Context&, const TuneOptions&);                               \
  template std::vector<TrialRecord> bench(const Matrix<T>&, const Context&, const std::vector<FormatChoice>&, \
                                          const TuneOptions&);
AUTOSPMV_TUNER(float)
AUTOSPMV_TUNER(double)
#undef AUTOSPMV_TUNER

}  // namespace autospmv
