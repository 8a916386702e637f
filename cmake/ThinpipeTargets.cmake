# One way to declare a library, a program and a test, so that flags and install rules cannot drift.
include(ThinpipePrecompiled)

# What a test costs is its compilation, not its run.
set(THINPIPE_TEST_OPTIMISATION -O1)
if(THINPIPE_SANITIZE)
  set(THINPIPE_TEST_OPTIMISATION -O0)
endif()

function(thinpipe_compile_flags target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
                                           -Woverloaded-virtual -Wunused)
  # Which other files' names a local one hides depends on what happens to be compiled together.
  if(THINPIPE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-shadow -Wshadow=local)
  endif()
  # GCC 12 takes `"text" + std::string` for an overlapping copy (gcc.gnu.org/PR105329).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  # GCC's own advice: with a sanitizer, its flow analysis sees uses that cannot be (std::regex).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND THINPIPE_SANITIZE)
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
  endif()
  if(THINPIPE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# thinpipe_unity(TARGET SOURCES...): compiles files together, 50 kB a unit: headers that they share are
# read once, templates compiled once. Names without linkage must therefore be unique in a target; two that
# mean the same belong in one place anyway. Compiled alone are files that Highway includes once a SIMD
# target, one with the kernel's view of TCP, which contradicts the C library's, and one that replaces
# operator new.
function(thinpipe_unity target)
  if(NOT THINPIPE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set(unit 0)
  set(unit_size 0)
  foreach(source ${ARGN})
    file(STRINGS ${source} alone REGEX "HWY_TARGET_INCLUDE|<linux/tcp.h>|^void. operator new"
         LIMIT_COUNT 1)
    if(alone OR NOT source MATCHES "\\.cc$")
      continue()
    endif()
    file(SIZE ${source} size)
    math(EXPR unit_size "${unit_size} + ${size}")
    if(unit_size GREATER 50000)
      math(EXPR unit "${unit} + 1")
      set(unit_size ${size})
    endif()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit})
  endforeach()
endfunction()

# thinpipe_library(NAME [UNMEASURED] SOURCES ... PUBLIC deps... PRIVATE deps...)
# A shared library: its self-registering objects are then always loaded. UNMEASURED: nothing in it
# runs within a measurement or often; -O3 would double what its compilation costs, for nothing.
function(thinpipe_library name)
  cmake_parse_arguments(ARG "UNMEASURED" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(thinpipe_${name} SHARED ${ARG_SOURCES})
  add_library(thinpipe::${name} ALIAS thinpipe_${name})
  set_target_properties(thinpipe_${name} PROPERTIES EXPORT_NAME ${name} VERSION ${PROJECT_VERSION}
                                                    SOVERSION ${PROJECT_VERSION_MAJOR})
  target_compile_features(thinpipe_${name} PUBLIC cxx_std_20)
  target_include_directories(
    thinpipe_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/thinpipe>)
  target_link_libraries(thinpipe_${name} PUBLIC thinpipe::base ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  thinpipe_compile_flags(thinpipe_${name})
  thinpipe_unity(thinpipe_${name} ${ARG_SOURCES})
  if(ARG_UNMEASURED)
    target_compile_options(thinpipe_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(ARG_UNMEASURED OR THINPIPE_SANITIZE)
    thinpipe_precompiled(thinpipe_${name} library)
  endif()
endfunction()

# thinpipe_program(NAME SOURCES ... LINK deps...): an executable in build/bin.
function(thinpipe_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  thinpipe_compile_flags(${name})
endfunction()

# For tests' programs: quick to compile.
function(thinpipe_test_flags target)
  thinpipe_compile_flags(${target})
  if(THINPIPE_FUZZ)
    return()  # what fuzzes is to be fast
  endif()
  target_compile_options(${target} PRIVATE ${THINPIPE_TEST_OPTIMISATION})
  thinpipe_precompiled(${target} test)
endfunction()

# thinpipe_test(NAME SOURCES ... LINK deps... [LABELS ...] [SHARDS N]): a GoogleTest binary, of which each
# of N entries of ctest (4) runs as many cases: a process a case costs more than most cases. Those that
# measure links (label netem) are an entry each, with the cores for themselves; `./check` counts and names
# cases either way.
function(thinpipe_test name)
  cmake_parse_arguments(ARG "" "SHARDS" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  thinpipe_test_flags(${name})
  thinpipe_unity(${name} ${ARG_SOURCES})
  # PROCESSORS are halves of a core, here and in all tests: `ctest -j4` fills two.
  if(netem IN_LIST ARG_LABELS)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 300
                                                                 PROCESSORS 2 RUN_SERIAL ON)
    return()
  endif()
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 4)
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}.${shard} COMMAND ${name})
    set_tests_properties(
      ${name}.${shard} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 1800 PROCESSORS 2 COST 30 ENVIRONMENT
                                  "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()
