# Debian packages: `cpack -G DEB` in a build folder, one package a component of ThinpipeInstall.
# dpkg-shlibdeps finds the libraries that the files need; packages that programs start or headers
# include are named below. The version in the project() call is checked against all other copies.
file(STRINGS ${PROJECT_SOURCE_DIR}/workloads/capture/python/thinpipe_capture.py python_version
     REGEX "^__version__ = " LIMIT_COUNT 1)
if(NOT python_version STREQUAL "__version__ = \"${PROJECT_VERSION}\"")
  message(FATAL_ERROR "thinpipe_capture.py has ${python_version}; the project is ${PROJECT_VERSION}")
endif()
string(REPLACE "." "\\." version_regex ${PROJECT_VERSION})
file(STRINGS ${PROJECT_SOURCE_DIR}/CHANGELOG.md release
     REGEX "^## \\[${version_regex}\\] - [0-9]+-[0-9]+-[0-9]+$" LIMIT_COUNT 1)
if(NOT release)
  message(FATAL_ERROR "CHANGELOG.md has no heading '## [${PROJECT_VERSION}] - YEAR-MONTH-DAY'")
endif()
string(REGEX REPLACE "^.* " "" THINPIPE_RELEASE_DAY ${release})

# Debian's own changelog and copyright file, in the folder of each package.
set(THINPIPE_MAINTAINER "thinpipe maintainers <maintainers@thinpipe.example>")
set(packaging ${PROJECT_BINARY_DIR}/packaging)
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C TZ=UTC date -d ${THINPIPE_RELEASE_DAY}
          "+%a, %d %b %Y %H:%M:%S +0000"
  OUTPUT_VARIABLE THINPIPE_RELEASE_DATE OUTPUT_STRIP_TRAILING_WHITESPACE)
configure_file(cmake/package/changelog.in ${packaging}/changelog.Debian @ONLY)
configure_file(CHANGELOG.md ${packaging}/changelog COPYONLY)
file(WRITE ${packaging}/triggers "activate-noawait ldconfig\n")
file(CHMOD ${packaging}/triggers PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
# Times and names left out of the compressed files: the same tree gives the same package.
execute_process(COMMAND gzip -9nf changelog changelog.Debian WORKING_DIRECTORY ${packaging}
                COMMAND_ERROR_IS_FATAL ANY)
set(of_programs thinpipe)
set(of_development libthinpipe-dev)
set(of_training thinpipe-training)
set(of_simulation thinpipe-simulation)
foreach(component programs development training simulation)
  foreach(file cmake/package/copyright ${packaging}/changelog.gz ${packaging}/changelog.Debian.gz)
    install(FILES ${file} DESTINATION share/doc/${of_${component}} COMPONENT ${component}
            EXCLUDE_FROM_ALL)
  endforeach()
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME thinpipe)
set(CPACK_PACKAGE_CONTACT ${THINPIPE_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "measures what gradient compression costs, keeps and gains")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL programs development)
if(THINPIPE_HAS_TRAINING)
  list(APPEND CPACK_COMPONENTS_ALL training)
endif()
if(THINPIPE_HAS_SIMGRID)
  list(APPEND CPACK_COMPONENTS_ALL simulation)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
set(same_version "thinpipe (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME thinpipe)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_CONTROL_EXTRA ${packaging}/triggers)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS "openmpi-bin, gnuplot-nox | gnuplot")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS "thinpipe-training, python3")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SUGGESTS "thinpipe-simulation, librsvg2-bin, chromium, python3-torch, libthinpipe-dev")
set(CPACK_DEBIAN_PROGRAMS_DESCRIPTION "thinpipe replays captured gradients through pluggable compressors while a
network controller throttles the links between real MPI ranks. It measures
compression latency, estimation quality and end-to-end step time, and draws a
report.
.
This package holds the command, its libraries, the module that captures
gradients of PyTorch jobs, and the documentation.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libthinpipe-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "${same_version}, nlohmann-json3-dev, libopenmpi-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "Headers, links and the CMake package of thinpipe's libraries: compressors,
links, traces, collectives, reports. A plug-in needs one C header of
them.")

set(CPACK_DEBIAN_TRAINING_PACKAGE_NAME thinpipe-training)
set(CPACK_DEBIAN_TRAINING_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TRAINING_PACKAGE_DEPENDS "${same_version}")
set(CPACK_DEBIAN_TRAINING_PACKAGE_RECOMMENDS "libopenblas0-pthread")
set(CPACK_DEBIAN_TRAINING_DESCRIPTION "The programs behind `thinpipe capture` and `thinpipe train`, which train models
with libtorch: the first records gradients, the second trains with compressed
ones over emulated links.")

set(CPACK_DEBIAN_SIMULATION_PACKAGE_NAME thinpipe-simulation)
set(CPACK_DEBIAN_SIMULATION_PACKAGE_SECTION science)
set(CPACK_DEBIAN_SIMULATION_PACKAGE_DEPENDS "${same_version}")
set(CPACK_DEBIAN_SIMULATION_DESCRIPTION "The program behind `thinpipe run --engine simgrid`, which simulates ranks and
links with SimGrid, for clusters with more ranks than a machine can run.")
include(CPack)
