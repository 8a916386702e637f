#include "workloads/trace/chakra/execution_trace.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/error.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {
namespace {

[[noreturn]] void refuse_node(const ChakraNode& node, const std::string& file,
                              const std::string& what) {
  throw InputError(fmt::format("{}: node {} '{}': {}", file, node.id, printable(node.name), what));
}

void check_micros(const ChakraNode& node, std::uint64_t micros, const char* field,
                  const std::string& file) {
  if (micros <= kMaxChakraMicros) return;
  refuse_node(
      node, file,
      fmt::format("{}: found {}, expected 0 to 10^18", field, static_cast<std::int64_t>(micros)));
}

// Returns a node that waits for itself through others.
// @param waits  by node, the number of dependencies that never end; one node has some
std::size_t node_of_cycle(const std::vector<std::vector<std::size_t>>& dependencies,
                          const std::vector<std::size_t>& waits) {
  const auto is_stuck = [&](std::size_t node) { return waits[node] > 0; };
  std::size_t at = 0;
  while (!is_stuck(at)) ++at;
  // A stuck node waits for a stuck node. A walk from one to the next is in a cycle when it meets a
  // node again.
  std::vector<bool> seen(waits.size());
  while (!seen[at]) {
    seen[at] = true;
    at = *std::find_if(dependencies[at].begin(), dependencies[at].end(), is_stuck);
  }
  return at;
}

void check_dependencies(const std::vector<ChakraNode>& nodes, const std::string& file) {
  std::unordered_map<std::uint64_t, std::size_t> index;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!index.emplace(nodes[i].id, i).second) refuse_node(nodes[i], file, "id: appears twice");
  }
  std::vector<std::vector<std::size_t>> dependencies(nodes.size()), dependents(nodes.size());
  std::vector<std::size_t> waits(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::uint64_t id : nodes[i].data_deps) {
      const auto found = index.find(id);
      if (found == index.end()) {
        refuse_node(nodes[i], file, fmt::format("data_deps: the file has no node {}", id));
      }
      dependencies[i].push_back(found->second);
      dependents[found->second].push_back(i);
    }
    waits[i] = dependencies[i].size();
  }
  // Ends one node after another whose dependencies have ended. Only nodes of cycles, and those that
  // depend on them, never end.
  std::vector<std::size_t> unblocked;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (waits[i] == 0) unblocked.push_back(i);
  }
  std::size_t ended = 0;
  while (!unblocked.empty()) {
    const std::size_t node = unblocked.back();
    unblocked.pop_back();
    ++ended;
    for (const std::size_t dependent : dependents[node]) {
      if (--waits[dependent] == 0) unblocked.push_back(dependent);
    }
  }
  if (ended == nodes.size()) return;
  refuse_node(nodes[node_of_cycle(dependencies, waits)], file,
              "data_deps: a cycle, in which the node waits for itself");
}

}  // namespace

void require_protobuf(const std::string& what) {
  if (has_protobuf()) return;
  throw RunError(what +
                 ": this build cannot read or write execution traces in protobuf; install "
                 "libprotobuf-dev and protobuf-compiler, then configure and build again");
}

bool is_execution_trace(std::span<const std::byte> file) {
  // JSON has no control characters but white space. The lengths and field numbers of the first two
  // messages, which are within so many bytes, have some.
  constexpr std::size_t kExamined = 4096;
  const auto examined = file.first(std::min(file.size(), kExamined));
  return std::any_of(examined.begin(), examined.end(), [](std::byte byte) {
    const int code = std::to_integer<int>(byte);
    return code < 0x20 && code != '\t' && code != '\n' && code != '\r';
  });
}

void check_execution_trace(const ExecutionTrace& trace, const std::string& name) {
  constexpr int kLast = static_cast<int>(ChakraNodeType::kCheckpoint);
  for (const ChakraNode& node : trace.nodes) {
    const int type = static_cast<int>(node.type);
    if (type < 1 || type > kLast) {
      refuse_node(node, name, fmt::format("type: found {}, expected 1 to {}", type, kLast));
    }
    check_micros(node, node.start_micros, "start_time_micros", name);
    check_micros(node, node.duration_micros, "duration_micros", name);
  }
  check_dependencies(trace.nodes, name);
}

}  // namespace thinpipe
