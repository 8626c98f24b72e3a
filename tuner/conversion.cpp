#include "tuner/conversion.hpp"

#include <new>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/shortage.hpp"
#include "features/longest_row.hpp"
#include "tuner/clock.hpp"
#include "tuner/host_threads.hpp"

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

template <class T>
typename LiveOperator<T>::Rebuild rebuilding(const Candidate& candidate, const Device& device,
                                             const FormatLookup<T>& formats) {
  return [=](const CsrView<T>& matrix) -> typename LiveOperator<T>::Rebuilt {
    if (const auto* format = formats(candidate.format)) {
      if (auto same = format->build(matrix, candidate.params, device)) return {std::move(*same), true};
      auto widened = format->build(matrix, format->for_any_values(candidate.params), device);
      if (widened) return {std::move(*widened), false};
    }
    const auto longest = longest_row(matrix.row_ptr, matrix.rows, device);
    const auto plain = blind_fallback_prospect(matrix, longest, device, Limits{}).candidate;
    Measurement ignored;
    return {convert(matrix, plain, device, FormatLookup<T>(find_format<T>), ignored), false};
  };
}

#define AUTOSPMV_CONVERSION(T)                                                                      \
  template std::unique_ptr<Operator<T>> convert(const CsrView<T>&, const Candidate&, const Device&, \
                                                const FormatLookup<T>&, Measurement&);              \
  template LiveOperator<T>::Rebuild rebuilding(const Candidate&, const Device&, const FormatLookup<T>&);
AUTOSPMV_CONVERSION(float)
AUTOSPMV_CONVERSION(double)
#undef AUTOSPMV_CONVERSION

}  // namespace autospmv
