# What thinpipe builds on; docs/dependencies.md gives the reason for each.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(benchmark REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
# Kernels are compiled once an instruction set. Every x86 processor since 2008 that has SSSE3 has more;
# older ones take the portable kernels. Sanitizers look for what is read and written where, for which
# SSE4's vectors have nothing that shorter and longer ones have not.
set(unused_targets HWY_SSSE3)
if(THINPIPE_SANITIZE)
  set(unused_targets HWY_SSSE3|HWY_SSE4)
endif()
set_property(TARGET PkgConfig::HWY APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS
                                                   "HWY_DISABLED_TARGETS=${unused_targets}")
pkg_check_modules(NL_ROUTE REQUIRED IMPORTED_TARGET libnl-route-3.0)
pkg_check_modules(ZIP REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(TOML REQUIRED IMPORTED_TARGET tomlplusplus)

set(THINPIPE_HAS_TRAINING OFF)
if(NOT THINPIPE_TRAINING STREQUAL "OFF")
  find_package(Torch QUIET)
  if(TARGET torch)
    set(THINPIPE_HAS_TRAINING ON)
  elseif(THINPIPE_TRAINING STREQUAL "ON")
    message(FATAL_ERROR "THINPIPE_TRAINING=ON but libtorch was not found (Debian: libtorch-dev)")
  endif()
endif()

set(THINPIPE_HAS_PROTOBUF OFF)
if(NOT THINPIPE_PROTOBUF STREQUAL "OFF")
  find_package(Protobuf QUIET)
  set(protoc_version "")
  if(Protobuf_FOUND AND Protobuf_PROTOC_EXECUTABLE)
    execute_process(COMMAND ${Protobuf_PROTOC_EXECUTABLE} --version OUTPUT_VARIABLE protoc_version
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  # The library's headers refuse code that another version of its compiler made.
  if(protoc_version STREQUAL "libprotoc ${Protobuf_VERSION}")
    set(THINPIPE_HAS_PROTOBUF ON)
  elseif(THINPIPE_PROTOBUF STREQUAL "ON")
    message(FATAL_ERROR "THINPIPE_PROTOBUF=ON but protobuf and its compiler, of one version, were not "
                        "found (Debian: libprotobuf-dev, protobuf-compiler)")
  endif()
endif()

set(THINPIPE_HAS_SIMGRID OFF)
if(NOT THINPIPE_SIMGRID STREQUAL "OFF")
  pkg_check_modules(SIMGRID QUIET IMPORTED_TARGET simgrid)
  if(SIMGRID_FOUND)
    set(THINPIPE_HAS_SIMGRID ON)
  elseif(THINPIPE_SIMGRID STREQUAL "ON")
    message(FATAL_ERROR "THINPIPE_SIMGRID=ON but SimGrid was not found (Debian: libsimgrid-dev)")
  endif()
endif()

include(ThinpipeCuda)

message(STATUS "thinpipe: training (libtorch) ${THINPIPE_HAS_TRAINING}, "
               "protobuf ${THINPIPE_HAS_PROTOBUF}, SimGrid ${THINPIPE_HAS_SIMGRID}, CUDA Toolkit ${THINPIPE_HAS_CUDA}")
