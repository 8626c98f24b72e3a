// What is done once before it is needed.
#pragma once

#include "core/machine/device.hpp"

namespace autospmv {

/// Does on a small matrix what online tuning does before its first candidate. CUDA loads a kernel when it is first
/// launched, which takes as long as tens of small products and keeps those beside it waiting: a program that makes its
/// matrix after its context has it done meanwhile. Once a process for each CUDA device and T; nothing on the host.
template <class T>
void rehearse(const Device& device) noexcept;

}  // namespace autospmv
