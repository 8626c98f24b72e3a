// One spelling for functions that both compilers see.
#pragma once

#ifdef __CUDACC__
#define AUTOSPMV_HD __host__ __device__
#else
#define AUTOSPMV_HD
#endif
