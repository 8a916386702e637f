# Headers that nearly every file includes, parsed once a kind of target instead of once a unit. A file
# still includes all that it uses: where THINPIPE_UNITY is OFF nothing is precompiled, and one that
# leans on these does not compile.

# thinpipe_precompiled(TARGET KIND): KIND is a header of cmake/precompiled without its ".h": `library`
# for libraries that are not compiled with -O3 (with it, GCC 12 finds fault with the standard
# library's own code, PR105329 once more, where that was precompiled), `test` for tests' programs.
function(thinpipe_precompiled target kind)
  if(NOT THINPIPE_UNITY OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  set(precompiled precompiled_${kind})
  set(definitions $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
  set(options -fpch-preprocess)  # lets ccache tell from what is read if it knows the result
  if(kind STREQUAL "test")  # GoogleTest's package has its macro among the options
    list(APPEND options $<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>)
  endif()
  if(NOT TARGET ${precompiled})
    set(empty ${PROJECT_BINARY_DIR}/precompiled/${kind}.cc)
    file(CONFIGURE OUTPUT ${empty} CONTENT "" @ONLY)
    # What the compiler insists on being the same where a header is made and where it is used: if
    # code is position-independent, if it is optimised, and the macros that the header looks at.
    add_library(${precompiled} OBJECT ${empty})
    target_compile_definitions(${precompiled} PRIVATE ${definitions})
    target_compile_features(${precompiled} PUBLIC cxx_std_20)
    target_include_directories(${precompiled} PRIVATE ${PROJECT_SOURCE_DIR})
    target_precompile_headers(${precompiled} PRIVATE
                              ${PROJECT_SOURCE_DIR}/cmake/precompiled/${kind}.h)
    target_compile_options(${precompiled} PRIVATE ${options})
    if(kind STREQUAL "test")
      target_compile_options(${precompiled} PRIVATE ${THINPIPE_TEST_OPTIMISATION})
    else()
      set_target_properties(${precompiled} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
  target_compile_options(${target} PRIVATE ${options})
  target_compile_definitions(${target} PRIVATE ${definitions})
endfunction()
