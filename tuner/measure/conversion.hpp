// From a candidate to its operator.
#pragma once

#include <exception>
#include <memory>

#include "core/trial.hpp"
#include "formats/format.hpp"
#include "tuner/search/candidates.hpp"

namespace autospmv {

/// Builds the candidate's operator and waits until the device has done so. Notes how many seconds that took and how
/// many bytes it holds; nullptr where the format refuses, with its reason noted. Throws InvalidArgument where there is
/// no such format, and what Format::build() throws.
template <class T>
std::unique_ptr<Operator<T>> convert(const CsrView<T>& matrix, const Candidate& candidate, const Device& device,
                                     const FormatLookup<T>& formats, Measurement& measurement);

/// In a handler of the exception: why a trial ended. Where memory or threads ran out, the candidate is refused and
/// given up, else it has failed.
void note_failure(Measurement& measurement, const std::exception& error) noexcept;

}  // namespace autospmv
