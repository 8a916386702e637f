// Fuzzes the trace.json of a trace with arbitrary bytes. The trace's other files are valid, one of
// them in 16 bits. The trace must open and every value must be readable, or opening must throw an
// InputError.
#include <fstream>

#include "tests/base/support.h"
#include "tests/fuzz/input.h"
#include "tests/trace/sample_trace.h"
#include "workloads/trace/trace.h"

namespace thinpipe::fuzz {
namespace {

/// Made once a process. As in seeds.cc, so that the seed's trace.json fits its files.
const std::filesystem::path& folder() {
  static const TemporaryFolder temporary;
  static const std::filesystem::path path = [] {
    const std::filesystem::path trace = temporary / "trace";
    write_sample_trace(trace, {.shapes = {{3, 2}, {5}}, .ranks = 1, .steps = 1, .squares = true});
    // The seed `bf16` names this file.
    write_bytes(
        trace / "rank-000/half.safetensors",
        safetensors_bytes(R"({"q:tensor-0":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},)"
                          R"("q:tensor-1":{"dtype":"F32","shape":[5],"data_offsets":[24,44]},)"
                          R"("tensor-0":{"dtype":"BF16","shape":[3,2],"data_offsets":[44,56]},)"
                          R"("tensor-1":{"dtype":"BF16","shape":[5],"data_offsets":[56,66]}}  )",
                          66));
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
