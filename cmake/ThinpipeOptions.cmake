# What a builder may choose, and the compile flags that follow from it.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

option(THINPIPE_TESTS "Build the tests" ON)
option(THINPIPE_UNITY "Compile the files of a folder together; OFF compiles each alone" ON)
option(THINPIPE_WERROR "Treat warnings in thinpipe's own code as errors" ON)
set(THINPIPE_SANITIZE "" CACHE STRING "Sanitizers: address, undefined, thread, address,undefined; or empty")
option(THINPIPE_FUZZ "Build the fuzz targets with libFuzzer (clang)" OFF)
set(THINPIPE_TRAINING AUTO CACHE STRING "Build capture from training (libtorch): AUTO, ON, OFF")
set(THINPIPE_PROTOBUF AUTO CACHE STRING "Read and write execution traces in protobuf: AUTO, ON, OFF")
set(THINPIPE_SIMGRID AUTO CACHE STRING "Simulate clusters with SimGrid: AUTO, ON, OFF")
set(THINPIPE_CUDA AUTO CACHE STRING "Use the CUDA Toolkit: AUTO, ON, OFF")

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

include(GNUInstallDirs)
set(CMAKE_INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR} $ORIGIN/../../${CMAKE_INSTALL_LIBDIR}
                        $ORIGIN)

find_program(THINPIPE_CCACHE ccache)
set(use_ccache ${THINPIPE_CCACHE})
if(THINPIPE_CCACHE)
  # It compiles nothing where it cannot write: HOME may be read-only.
  execute_process(COMMAND ${THINPIPE_CCACHE} --get-config cache_dir OUTPUT_VARIABLE ccache_folder
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND sh -c "mkdir -p \"$1\" && file=$(mktemp \"$1/thinpipe.XXXXXX\") && rm \"$file\"" sh
                          "${ccache_folder}"
                  RESULT_VARIABLE not_writable OUTPUT_QUIET ERROR_QUIET)
  if(not_writable)
    message(STATUS "ccache cannot write to ${ccache_folder}: compiling without it")
    set(use_ccache OFF)
  endif()
endif()
if(use_ccache)
  # What it must be told to keep objects that precompiled headers are part of.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${THINPIPE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${THINPIPE_CCACHE})
endif()

if(THINPIPE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "THINPIPE_FUZZ needs clang; the compiler is ${CMAKE_CXX_COMPILER_ID}")
  endif()
  # Coverage for the fuzzer, and both sanitizers; an error ends the program.
  set(flags -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
            -fno-omit-frame-pointer -g1)
  add_compile_options(${flags})
  add_link_options(${flags})
endif()

if(THINPIPE_SANITIZE)
  # Compiles in a third of the time of -O2 -g; what a report names, file and line, is there all the
  # same. With less than -Og, Highway leaves all SIMD out. Without NDEBUG: asserts are one more check.
  set(CMAKE_C_FLAGS_RELWITHDEBINFO "-Og -g1")
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-Og -g1")
  add_compile_options(-fsanitize=${THINPIPE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${THINPIPE_SANITIZE})
  if(THINPIPE_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Checks by calls, which are a half of the kernels' code otherwise.
    add_compile_options(--param=asan-instrumentation-with-call-threshold=0)
  endif()
  if(THINPIPE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=all)
  endif()
endif()
