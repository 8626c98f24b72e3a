// One spelling for functions that both compilers see, and for loops in them that a device must unroll.
#pragma once

#ifdef __CUDACC__
#define AUTOSPMV_HD __host__ __device__
#else
#define AUTOSPMV_HD
#endif

#ifdef __CUDA_ARCH__
#define AUTOSPMV_UNROLL _Pragma("unroll")
#else
#define AUTOSPMV_UNROLL
#endif
