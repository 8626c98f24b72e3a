// By what processors of one make differ for kernels.
#pragma once

#include <string_view>

namespace autospmv {

inline constexpr std::string_view avx512 = "AVX-512";

/// Those of the kernels that the loader picks on this processor (core/machine/simd.hpp), which processors of one model
/// name may have or not: "AVX-512", "AVX2" or nothing.
std::string_view host_instructions();

/// The instructions that products use on a device, as its name says: "AVX2" of "AMD EPYC, AVX2, 2 threads", nothing of
/// "NVIDIA H200". What is fast by some may be slow by others.
std::string_view instructions_in(std::string_view device);

}  // namespace autospmv
