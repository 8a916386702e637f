// Arbitrary bytes as the trace.json of a trace whose other files are sound: it opens and every
// value can be read, or it is an InputError.
#include <fstream>

#include "tests/fuzz/input.h"
#include "tests/trace/temporary_folder.h"
#include "tests/trace/touch.h"
#include "workloads/trace/synthetic.h"
#include "workloads/trace/trace.h"

namespace thinpipe::fuzz {
namespace {

/// Made once a process. As in seeds.cc, so that the seed's trace.json fits its files.
const std::filesystem::path& folder() {
  static const TemporaryFolder temporary;
  static const std::filesystem::path path = [] {
    const std::filesystem::path trace = temporary / "trace";
    make_synthetic_trace(trace, {.shapes = {{3, 2}, {5}}, .ranks = 1, .steps = 1, .squares = true});
    return trace;
  }();
  return path;
}

}  // namespace
}  // namespace thinpipe::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  const auto& folder = fuzz::folder();
  std::ofstream(folder / "trace.json", std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    const Trace trace(folder);
    touch_every_value(trace);
    trace.verify();
  } catch (const InputError&) {
  }
  return 0;
}
