// The plug-ins of examples/plugins and of this folder, loaded once.
#pragma once

#include <memory>
#include <string>

#include "compressors/plugin/loader.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe::testing {

inline std::string example_plugin(const std::string& name) {
  return std::string(EXAMPLE_PLUGINS) + "/" + name + ".so";
}
inline std::string test_plugin(const std::string& name) {
  return std::string(TEST_PLUGINS) + "/" + name + ".so";
}

/// A compressor of a spec that may name methods of all of them.
inline std::unique_ptr<Compressor> make_loaded(const std::string& spec, std::size_t elements) {
  load_plugin(example_plugin("example_sign"));
  load_plugin(example_plugin("example_stride"));
  for (const char* name : {"broken_methods", "setup", "momentum"}) load_plugin(test_plugin(name));
  return make(spec, elements);
}

/// Message of the Error that `work` throws, or "" if none.
template <class Error, class Work>
std::string error_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace thinpipe::testing
