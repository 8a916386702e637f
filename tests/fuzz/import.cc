// Fuzzes the input of `thinpipe trace import`. The first byte selects the kind of input. The rest
// of the bytes must be imported or refused with an InputError.
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "tests/fuzz/input.h"
#include "workloads/trace/chakra/execution_trace.h"
#include "workloads/trace/import/arrays.h"
#include "workloads/trace/import/chakra.h"
#include "workloads/trace/import/names.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe::fuzz {
namespace {

void check_array(const NamedArray& array) {
  std::size_t elements = 1;
  for (const std::int64_t dimension : array.shape) {
    elements *= static_cast<std::size_t>(dimension);
  }
  require(elements == array.values.size(), "as many values as the shape has");
  // Written values are read back.
  const std::string prologue = npy_prologue(array.shape);
  std::string file = prologue;
  file.append(reinterpret_cast<const char*>(array.values.data()),
              array.values.size() * sizeof(float));
  const NpyArray again = parse_npy(std::as_bytes(std::span(file)), "again");
  require(again.shape == array.shape && again.dtype == "F32", "the shape comes back");
}

void check_steps(const std::vector<ChakraStep>& steps) {
  for (const ChakraStep& step : steps) {
    require(!step.shapes.empty(), "a step has gradients");
    for (const double ready : step.ready) {
      require(ready >= 0 && ready <= step.backward, "ready within the backward pass");
    }
  }
}

void take_apart(char kind, std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (kind == 'n') {
    check_array(read_npy_array(bytes, "fuzz", "a"));
  } else if (kind == 'z') {
    for (const NamedArray& array : read_npz_arrays(bytes, "fuzz")) check_array(array);
  } else if (kind == 'c') {
    check_steps(parse_chakra(parse_json_strictly(text, "fuzz"), "fuzz"));
  } else if (kind == 'e' && has_protobuf()) {
    const ExecutionTrace trace = read_execution_trace(bytes, "fuzz");
    const std::string again = execution_trace_bytes(trace);
    require(read_execution_trace(std::as_bytes(std::span(again)), "again") == trace,
            "a written trace is read back the same");
    check_steps(parse_chakra(trace, "fuzz"));
  } else if (kind == 'p') {  // a pattern, a line break, a path
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return;
    const PathPattern pattern{std::string(text.substr(0, end))};
    const std::string name(text.substr(end + 1));
    pattern.match(name);
    if (name.empty()) return;
    const auto back = PathPattern("{tensor}").match(escaped_file_name(name));
    require(back && back->tensor == name, "an escaped name comes back");
  }
}

}  // namespace
}  // namespace thinpipe::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  if (size == 0) return 0;
  try {
    fuzz::take_apart(static_cast<char>(data[0]), std::as_bytes(std::span(data + 1, size - 1)));
  } catch (const InputError&) {
  }
  return 0;
}
