// What is done once before it is needed.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "core/machine/device.hpp"
#include "core/trial.hpp"

namespace autospmv {

inline constexpr std::size_t rehearsal_steps = 17;

/// What a step is of: plain CSR of large matrices, a candidate of the format that is the fastest most often, or what
/// comes before the first.
template <class T>
std::optional<Candidate> rehearsed_candidate(std::size_t step);

/// Does on a small matrix what online tuning does until its first candidate serves, a step at a time. CUDA loads a
/// kernel when it is first launched, which takes as long as tens of small products and keeps those beside it waiting: a
/// program that makes its matrix after its context has it done meanwhile. Each step once a process for each CUDA device
/// and T, and no further than `goes_on` says, which is asked every few kernels; nothing on the host.
template <class T>
void rehearse(
    const Device& device, std::size_t step, const std::function<bool()>& goes_on = [] { return true; }) noexcept;

}  // namespace autospmv
