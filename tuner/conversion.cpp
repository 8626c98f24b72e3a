#include "tuner/conversion.hpp"

#include <utility>

#include "core/error.hpp"
#include "tuner/clock.hpp"

namespace autospmv {

template <class T>
std::unique_ptr<Operator<T>> convert(const CsrView<T>& matrix, const Candidate& candidate, const Device& device,
                                     const FormatLookup<T>& formats, Measurement& measurement) {
  const auto* format = formats(candidate.format);
  if (format == nullptr) throw InvalidArgument("there is no format '" + candidate.format + "'");
  const auto start = Clock::now();
  auto built = format->build(matrix, candidate.params, device);
  if (!built) {
    measurement.outcome = Outcome::refused;
    measurement.detail = built.reason();
    return nullptr;
  }
  synchronize(device, setup_stream(device));
  measurement.setup_seconds = seconds_since(start);
  measurement.bytes = (*built)->bytes();
  return std::move(*built);
}

template std::unique_ptr<Operator<float>> convert(const CsrView<float>&, const Candidate&, const Device&,
                                                  const FormatLookup<float>&, Measurement&);
template std::unique_ptr<Operator<double>> convert(const CsrView<double>&, const Candidate&, const Device&,
                                                   const FormatLookup<double>&, Measurement&);

}  // namespace autospmv
