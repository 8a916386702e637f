// Refuses execution traces where the protobuf library is missing (execution_trace.h).
#include <cstddef>
#include <span>
#include <string>

#include "workloads/trace/chakra/execution_trace.h"

namespace thinpipe {

bool has_protobuf() { return false; }

ExecutionTrace read_execution_trace(std::span<const std::byte>, const std::string& name) {
  require_protobuf(name);
  return {};
}

std::string execution_trace_bytes(const ExecutionTrace&) {
  require_protobuf("execution trace");
  return {};
}

}  // namespace thinpipe
