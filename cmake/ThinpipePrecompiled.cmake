# Headers that nearly every file includes, parsed once instead of once a unit. A file still includes
# all that it uses: where THINPIPE_UNITY is OFF nothing is precompiled, and one that leans on these
# does not compile.

# thinpipe_precompiled(TARGET): for libraries that are not compiled with -O3. With it, GCC 12 finds
# fault with the standard library's own code (PR105329 once more) where that was precompiled.
function(thinpipe_precompiled target)
  if(NOT THINPIPE_UNITY OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  if(NOT TARGET precompiled_library)
    set(empty ${PROJECT_BINARY_DIR}/precompiled/library.cc)
    file(CONFIGURE OUTPUT ${empty} CONTENT "" @ONLY)
    # What the compiler insists on being the same where a header is made and where it is used: if
    # code is position-independent, if it is optimised, and the macros that the header looks at.
    add_library(precompiled_library OBJECT ${empty})
    set_target_properties(precompiled_library PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(precompiled_library PRIVATE fmt::fmt)
    target_compile_features(precompiled_library PUBLIC cxx_std_20)
    target_include_directories(precompiled_library PRIVATE ${PROJECT_SOURCE_DIR})
    target_precompile_headers(precompiled_library PRIVATE
                              ${PROJECT_SOURCE_DIR}/cmake/precompiled/library.h)
    # Lets ccache tell from what is read, header and all, whether it knows the result.
    target_compile_options(precompiled_library PRIVATE -fpch-preprocess)
  endif()
  target_precompile_headers(${target} REUSE_FROM precompiled_library)
  target_compile_options(${target} PRIVATE -fpch-preprocess)
  target_compile_definitions(${target}
                             PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
endfunction()
