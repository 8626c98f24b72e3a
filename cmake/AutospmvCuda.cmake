# Finds CUDA or leaves it out. Afterwards AUTOSPMV_WITH_CUDA says which, and cuda.txt in the build directory, in a line.

set(AUTOSPMV_WITH_CUDA OFF)
include(AutospmvOptional)
autospmv_optional(CUDA)

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  autospmv_without(CUDA "no nvcc was found (is it on the PATH?)")
endif()

# For the GPUs of this machine. Where they are not known, for one real architecture, and a virtual one that the driver
# compiles for everything else from compute 7.5 on, which takes it minutes.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  include(AutospmvGpus)
  autospmv_native_architectures(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_COMPILER})
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 75-virtual 90-real)
  endif()
endif()

enable_language(CUDA)
# CCCL has thrust::tabulate_output_iterator from then on.
set(AUTOSPMV_OLDEST_CUDA 12.8)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS AUTOSPMV_OLDEST_CUDA)
  autospmv_without(CUDA "nvcc ${CMAKE_CUDA_COMPILER_VERSION} is older than ${AUTOSPMV_OLDEST_CUDA}")
endif()
find_package(CUDAToolkit REQUIRED)
set(AUTOSPMV_WITH_CUDA ON)
list(JOIN CMAKE_CUDA_ARCHITECTURES " " architectures)
autospmv_say(CUDA "compiled by nvcc ${CMAKE_CUDA_COMPILER_VERSION} for ${architectures}")

# CMake before 3.26 does not know that nvcc 13 takes C++20, and would silently compile C++17.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
