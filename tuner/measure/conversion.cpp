#include "tuner/measure/conversion.hpp"

#include <new>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/machine/shortage.hpp"
#include "tuner/measure/clock.hpp"
#include "tuner/measure/host_threads.hpp"

namespace autospmv {

template <class T>
std::unique_ptr<Operator<T>> convert(const CsrView<T>& matrix, const Candidate& candidate, const Device& device,
                                     const FormatLookup<T>& formats, Measurement& measurement) {
  const auto* format = formats(candidate.format);
  if (format == nullptr) throw InvalidArgument("there is no format '" + candidate.format + "'");
  std::optional<Result<std::unique_ptr<Operator<T>>>> result;
  const auto build = [&] {
    result.emplace(format->build(matrix, candidate.params, device));
    if (*result) synchronize(device, setup_stream(device));
  };
  if (device.backend == Backend::host) {
    measurement.setup_seconds = time_threads(build).seconds;
  } else {
    const auto start = Clock::now();
    build();
    measurement.setup_seconds = seconds_since(start);
  }
  auto& built = *result;
  if (!built) {
    measurement = {};
    measurement.outcome = Outcome::refused;
    measurement.detail = built.reason();
    return nullptr;
  }
  measurement.bytes = (*built)->bytes();
  return std::move(*built);
}

void note_failure(Measurement& measurement, const std::exception& error) noexcept {
  const char* const shortage = shortage_in_hand();
  measurement.given_up = shortage != nullptr;
  measurement.outcome = measurement.given_up ? Outcome::refused : Outcome::failed;
  try {
    measurement.detail = measurement.given_up ? shortage : error.what();
  } catch (const std::bad_alloc&) {
    measurement.detail.clear();
  }
}

template std::unique_ptr<Operator<float>> convert(const CsrView<float>&, const Candidate&, const Device&,
                                                  const FormatLookup<float>&, Measurement&);
template std::unique_ptr<Operator<double>> convert(const CsrView<double>&, const Candidate&, const Device&,
                                                   const FormatLookup<double>&, Measurement&);

}  // namespace autospmv
