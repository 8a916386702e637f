# Installs to a fresh prefix and builds and runs a project that knows nothing but that prefix.
file(REMOVE_RECURSE ${WORK})
set(prefix "${WORK}/a prefix")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${code}\n${out}${err}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${PYTHON} ${EXAMPLES} "${prefix}/include/thinpipe" ${WORK}/examples.cc ${FACES})
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G Ninja -DCMAKE_PREFIX_PATH=${prefix}
    -DEXAMPLES=${WORK}/examples.cc
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
if(NOT output MATCHES "the examples run")
  message(FATAL_ERROR "the consumer printed: ${output}")
endif()

# The example plug-ins, against the installed header alone: no other package is looked for.
run(${CMAKE_COMMAND} -S ${PLUGINS} -B ${WORK}/plugins -G Ninja -DCMAKE_PREFIX_PATH=${prefix}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_C_COMPILER=${C_COMPILER}
    -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON)
run(${CMAKE_COMMAND} --build ${WORK}/plugins)
run(${prefix}/bin/thinpipe list example-sign --plugin ${WORK}/plugins/plugins/example_sign.so)
if(NOT output MATCHES "signs and their mean magnitude")
  message(FATAL_ERROR "the installed command printed: ${output}")
endif()

# The example of the C interface. pkg-config escapes the space in the prefix, as eval reads it.
set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
set(ENV{LD_LIBRARY_PATH} "${prefix}/${LIBDIR}")
run(sh -c [=[eval "$1 -std=c99 -Wall -Wextra -Werror -pedantic -Wno-missing-field-initializers \"$2\" \
          $(pkg-config --cflags --libs thinpipe) -lm -o \"$3\""]=] sh ${C_COMPILER} ${EMBED} ${WORK}/embed)
foreach(spec topk:ratio=0.01 fp16 topk:ratio=0.01,delay=4)
  run(${WORK}/embed ${spec})
  if(NOT output MATCHES "100 steps: .*the state for a checkpoint has")
    message(FATAL_ERROR "the example of the C interface printed: ${output}")
  endif()
endforeach()
execute_process(COMMAND ${WORK}/embed tokp RESULT_VARIABLE code ERROR_VARIABLE message OUTPUT_QUIET)
if(NOT code EQUAL 2 OR NOT message MATCHES "unknown compressor 'tokp'")
  message(FATAL_ERROR "the example of the C interface ended with ${code}: ${message}")
endif()
unset(ENV{LD_LIBRARY_PATH})

# The installed Python package finds the installed library.
run(${CMAKE_COMMAND} -E env --unset=THINPIPE_LIBRARY PYTHONPATH=${prefix}/share/thinpipe/python
    PYTHONDONTWRITEBYTECODE=1 ${PYTHON} -c "print(__import__('thinpipe').version())")
if(NOT output STREQUAL "${VERSION}\n")
  message(FATAL_ERROR "the installed Python package printed: ${output}")
endif()

# The installed command finds its libraries, and its helpers in libexec.
run(${prefix}/bin/thinpipe --version)
if(NOT output STREQUAL "thinpipe ${VERSION}\n")
  message(FATAL_ERROR "the installed command printed: ${output}")
endif()
execute_process(COMMAND ${prefix}/bin/thinpipe doctor --json OUTPUT_VARIABLE doctor)
if(NOT doctor MATCHES "libexec/thinpipe/thinpipe-worker")
  message(FATAL_ERROR "the installed command does not find its worker: ${doctor}")
endif()
foreach(file share/man/man1/thinpipe.1.gz share/bash-completion/completions/thinpipe)
  if(NOT EXISTS "${prefix}/${file}")
    message(FATAL_ERROR "not installed: ${file}")
  endif()
endforeach()
