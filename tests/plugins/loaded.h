// The plug-ins of examples/plugins and of this folder, loaded once.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "compressors/plugin/loader.h"
#include "tests/base/support.h"
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

/// A copy of the plug-in example_sign that a test may damage, and that is removed with the test.
class PluginCopy {
 public:
  PluginCopy() { std::filesystem::copy_file(example_plugin("example_sign"), path()); }
  std::string path() const { return folder_ / "copy.so"; }

 private:
  TemporaryFolder folder_;
};

}  // namespace thinpipe::testing
