# The CUDA Toolkit, where there is one that can compile compressors for GPUs. No GPU is needed.
set(THINPIPE_HAS_CUDA OFF)
# Sanitizers and fuzzers look at what processors run.
if(THINPIPE_CUDA STREQUAL "OFF" OR THINPIPE_SANITIZE OR THINPIPE_FUZZ)
  return()
endif()
find_package(CUDAToolkit QUIET)
if(CUDAToolkit_FOUND AND NOT DEFINED THINPIPE_NVCC_COMPILES)
  # As enable_language would find out with an error: an old toolkit, or one that does not go with
  # the compiler, is as good as none.
  set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/nvcc_probe)
  file(WRITE ${probe}.cu "#include <cuda/atomic>\n#include <span>\n__global__ void run() {}\n")
  execute_process(COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -std=c++20 -arch=sm_90
                          -ccbin ${CMAKE_CXX_COMPILER} -c ${probe}.cu -o ${probe}.o
                  RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    message(WARNING "${CUDAToolkit_NVCC_EXECUTABLE} does not compile C++20 for sm_90; without CUDA: ${said}")
    set(THINPIPE_NVCC_COMPILES OFF)  # not cached: a full disk may be the reason
  else()
    set(THINPIPE_NVCC_COMPILES ON CACHE INTERNAL "")
  endif()
endif()
if(NOT CUDAToolkit_FOUND OR NOT THINPIPE_NVCC_COMPILES)
  if(THINPIPE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "THINPIPE_CUDA=ON but no CUDA Toolkit was found that compiles C++20")
  endif()
  return()
endif()

set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
# Machine code for Hopper, and code that drivers translate for whatever follows Ampere.
set(CMAKE_CUDA_ARCHITECTURES 90-real 80-virtual CACHE STRING "What CUDA code is compiled for")
enable_language(CUDA)
# CMake 3.25 does not know that nvcc of CUDA 12 and newer can do C++20.
foreach(dialect STANDARD EXTENSION)
  if(NOT DEFINED CMAKE_CUDA20_${dialect}_COMPILE_OPTION)
    set(CMAKE_CUDA20_${dialect}_COMPILE_OPTION -std=c++20)
  endif()
endforeach()
set(THINPIPE_HAS_CUDA ON)
