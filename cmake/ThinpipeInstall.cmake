# Installation: headers, libraries, programs, shell completion, manual page, CMake package. Components
# are what ThinpipePackage makes packages of: `programs`, `development`, `training`, `simulation`.
include(CMakePackageConfigHelpers)

# What others may build on. The harness is a library only so that its tests can link it.
set(THINPIPE_PUBLIC_LIBRARIES base compressors cuda netem reports trace models synthetic capture collectives
    collectives_mpi predict replay)
# The headers that an outside program needs; each begins with an example, which a test compiles.
set(THINPIPE_FACES
    compressors/c/thinpipe.h compressors/compressor.h compressors/registry.h compressors/spec.h
    compressors/plugin/thinpipe_plugin.h netem/host_program.h netem/network.h netem/sandbox.h
    reports/record/reader.h reports/record/writer.h workloads/trace/trace.h)

# thinpipe_included(RESULT HEADERS...): these headers and all of thinpipe's that they include.
function(thinpipe_included result)
  set(found ${ARGN})
  set(left ${ARGN})
  while(left)
    list(POP_FRONT left header)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} lines REGEX "^#include \"")
    foreach(line ${lines})
      string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" other ${line})
      if(NOT other IN_LIST found)
        list(APPEND found ${other})
        list(APPEND left ${other})
      endif()
    endforeach()
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

set(THINPIPE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/thinpipe)
set(public_targets ${THINPIPE_PUBLIC_LIBRARIES})
list(TRANSFORM public_targets PREPEND thinpipe_)
install(TARGETS ${public_targets} EXPORT thinpipeTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT programs
                NAMELINK_COMPONENT development)
install(TARGETS thinpipe_harness LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT programs
                                         NAMELINK_SKIP)
# In a file of its own: who writes a plug-in needs none of the others' dependencies.
install(TARGETS thinpipe_plugin EXPORT thinpipePluginTargets COMPONENT development)
foreach(export thinpipePluginTargets thinpipeTargets)
  install(EXPORT ${export} NAMESPACE thinpipe:: DESTINATION ${THINPIPE_PACKAGE_DIR}
          COMPONENT development)
endforeach()

thinpipe_included(THINPIPE_PUBLIC_HEADERS ${THINPIPE_FACES})
foreach(header ${THINPIPE_PUBLIC_HEADERS})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/thinpipe/${folder}
          COMPONENT development)
endforeach()

# For C programs and other languages: `pkg-config --cflags --libs thinpipe`. The paths are relative to the
# file, so that an installation may be moved.
file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(${PROJECT_SOURCE_DIR}/cmake/thinpipe.pc.in ${PROJECT_BINARY_DIR}/generated/thinpipe.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/thinpipe.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# The Python package: `cmake --build BUILD --target wheel` makes a file for pip, which has the library. The
# installed package finds the system's library.
install(DIRECTORY python/thinpipe DESTINATION ${CMAKE_INSTALL_DATADIR}/thinpipe/python
        COMPONENT programs PATTERN __pycache__ EXCLUDE)
find_package(Python3 COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND)
  add_custom_target(wheel
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/python/make_wheel.py
            $<TARGET_FILE:thinpipe_compressors> ${PROJECT_BINARY_DIR}/wheel
    DEPENDS thinpipe_compressors VERBATIM)
endif()

# harness/machine/programs.h looks beside the command and in ../libexec/thinpipe.
install(TARGETS thinpipe RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
set(helpers thinpipe-worker thinpipe-enter thinpipe-shape)
install(TARGETS ${helpers} RUNTIME DESTINATION libexec/thinpipe COMPONENT programs)
install(PROGRAMS $<TARGET_FILE:thinpipe-cubic> DESTINATION libexec/thinpipe COMPONENT programs)
if(THINPIPE_HAS_TRAINING)
  set(training_helpers thinpipe-capture thinpipe-train-worker)
  install(TARGETS ${training_helpers} RUNTIME DESTINATION libexec/thinpipe COMPONENT training)
endif()

if(THINPIPE_HAS_SIMGRID)
  set(simulation_helpers thinpipe-simulate)
  install(TARGETS ${simulation_helpers} RUNTIME DESTINATION libexec/thinpipe COMPONENT simulation)
endif()

install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT programs)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs
        PATTERN __pycache__ EXCLUDE)

# Manual page and completion come from the command's own tables.
set(generated ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${generated})
add_custom_command(
  OUTPUT ${generated}/thinpipe.1.gz ${generated}/thinpipe.bash ${generated}/thinpipe.zsh
         ${generated}/thinpipe.fish
  COMMAND thinpipe --man > ${generated}/thinpipe.1
  COMMAND gzip -9nf ${generated}/thinpipe.1
  COMMAND thinpipe --completion bash > ${generated}/thinpipe.bash
  COMMAND thinpipe --completion zsh > ${generated}/thinpipe.zsh
  COMMAND thinpipe --completion fish > ${generated}/thinpipe.fish
  DEPENDS thinpipe
  VERBATIM)
add_custom_target(thinpipe_manual ALL DEPENDS ${generated}/thinpipe.1.gz ${generated}/thinpipe.bash)

# What `cmake --install` installs, which is everything but the tests. `./demo` builds it.
add_custom_target(installed)
add_dependencies(installed ${public_targets} thinpipe thinpipe-cubic ${helpers} ${training_helpers}
                           ${simulation_helpers} thinpipe_manual)

install(FILES ${generated}/thinpipe.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs)
install(FILES ${generated}/thinpipe.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME thinpipe
        COMPONENT programs)
install(FILES ${generated}/thinpipe.zsh
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _thinpipe
        COMPONENT programs)
install(FILES ${generated}/thinpipe.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT programs)

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/thinpipeConfig.cmake.in ${generated}/thinpipeConfig.cmake
  INSTALL_DESTINATION ${THINPIPE_PACKAGE_DIR})
# 0.x promises nothing across minor versions.
write_basic_package_version_file(${generated}/thinpipeConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${generated}/thinpipeConfig.cmake ${generated}/thinpipeConfigVersion.cmake
        DESTINATION ${THINPIPE_PACKAGE_DIR} COMPONENT development)
