// Host kernels are compiled once for each of a few generations of processors, and the loader picks.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
// Sanitizers are not up yet when the loader asks which version to take, so they get the plain one.
#define AUTOSPMV_MULTIVERSION __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
// For kernels of scalar loads: with AVX-512 the compiler makes gathers of them, which are slower.
#define AUTOSPMV_MULTIVERSION_SCALAR __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define AUTOSPMV_MULTIVERSION
#define AUTOSPMV_MULTIVERSION_SCALAR
#endif

// The body of a kernel must be inlined into each version, or all versions would call the same plain one.
#define AUTOSPMV_INLINE inline __attribute__((always_inline))
#define AUTOSPMV_INLINE_LAMBDA __attribute__((always_inline))
