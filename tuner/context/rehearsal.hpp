// What is done once before it is needed.
#pragma once

#include <cstddef>

#include "core/machine/device.hpp"
#include "core/trial.hpp"

namespace autospmv {

/// Does on a small matrix what online tuning does before its first candidate. CUDA loads a kernel when it is first
/// launched, which takes as long as tens of small products and keeps those beside it waiting: a program that makes its
/// matrix after its context has it done meanwhile. Once a process for each CUDA device and T; nothing on the host.
template <class T>
void rehearse(const Device& device) noexcept;

/// The same for some candidates of the format that is the fastest most often, one at a time: its first conversion in a
/// process takes several times as long as those after it.
inline constexpr std::size_t rehearsed_candidates = 8;
template <class T>
Candidate rehearsed_candidate(std::size_t which);
template <class T>
void rehearse_candidate(const Device& device, std::size_t which) noexcept;

}  // namespace autospmv
