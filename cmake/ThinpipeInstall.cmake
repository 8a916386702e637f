# Installation: headers, libraries, programs, shell completion, manual page, CMake package. Components
# are what ThinpipePackage makes packages of: `programs`, `development`, `training`.
include(CMakePackageConfigHelpers)

# What others may build on. The harness is a library only so that its tests can link it.
set(THINPIPE_PUBLIC_LIBRARIES base compressors cuda netem reports trace models synthetic capture exchange
    exchange_mpi predict replay)
# Their headers. Files named *-inl.h are compiled once a SIMD target and are no one's to include.
set(THINPIPE_HEADER_FOLDERS base compressors netem reports workloads/trace workloads/exchange
                            workloads/predict workloads/replay workloads/models workloads/synthetic
                            workloads/capture workloads/data)

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

set(THINPIPE_PUBLIC_HEADERS)
foreach(folder ${THINPIPE_HEADER_FOLDERS})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
       ${PROJECT_SOURCE_DIR}/${folder}/*.h)
  list(FILTER headers EXCLUDE REGEX "-inl\\.h$")
  list(APPEND THINPIPE_PUBLIC_HEADERS ${headers})
endforeach()
foreach(header ${THINPIPE_PUBLIC_HEADERS})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/thinpipe/${folder}
          COMPONENT development)
endforeach()

# harness/machine/programs.h looks beside the command and in ../libexec/thinpipe.
install(TARGETS thinpipe RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
install(TARGETS thinpipe-worker thinpipe-enter thinpipe-shape
        RUNTIME DESTINATION libexec/thinpipe COMPONENT programs)
if(THINPIPE_HAS_TRAINING)
  install(TARGETS thinpipe-capture thinpipe-train-worker
          RUNTIME DESTINATION libexec/thinpipe COMPONENT training)
endif()

install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT programs)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs
        PATTERN __pycache__ EXCLUDE)

# Manual page and completion come from the command's own tables.
set(generated ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${generated})
add_custom_command(
  OUTPUT ${generated}/thinpipe.1.gz ${generated}/thinpipe.bash
  COMMAND thinpipe --man > ${generated}/thinpipe.1
  COMMAND gzip -9nf ${generated}/thinpipe.1
  COMMAND thinpipe --completion bash > ${generated}/thinpipe.bash
  DEPENDS thinpipe
  VERBATIM)
add_custom_target(thinpipe_manual ALL DEPENDS ${generated}/thinpipe.1.gz ${generated}/thinpipe.bash)
install(FILES ${generated}/thinpipe.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs)
install(FILES ${generated}/thinpipe.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME thinpipe
        COMPONENT programs)

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/thinpipeConfig.cmake.in ${generated}/thinpipeConfig.cmake
  INSTALL_DESTINATION ${THINPIPE_PACKAGE_DIR})
# 0.x promises nothing across minor versions.
write_basic_package_version_file(${generated}/thinpipeConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${generated}/thinpipeConfig.cmake ${generated}/thinpipeConfigVersion.cmake
        DESTINATION ${THINPIPE_PACKAGE_DIR} COMPONENT development)
