// Chakra execution traces in protobuf: nodes with durations and dependencies, which simulators of
// accelerators read. A file is a sequence of messages, and the length of each precedes it as a
// varint. The first message is GlobalMetadata, each further one is a Node (execution_trace.proto).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace thinpipe {

/// NodeType of the schema.
enum class ChakraNodeType {
  kInvalid = 0,
  kMetadata = 1,
  kMemoryLoad = 2,
  kMemoryStore = 3,
  kCompute = 4,
  kSend = 5,
  kReceive = 6,
  kCollective = 7,
  kStorage = 8,
  kBatch = 9,
  kCheckpoint = 10,
};

/// CollectiveCommType of the schema, the value of the attribute `comm_type`; those that thinpipe
/// writes.
enum class ChakraCollective { kAllReduce = 0, kAllGather = 2 };

/// A named value. Values of other types are left out when a file is read.
struct ChakraAttribute {
  std::string name;
  std::variant<std::int64_t, bool, std::string> value;
  bool operator==(const ChakraAttribute&) const = default;
};

struct ChakraNode {
  std::uint64_t id = 0;  ///< unique in its file
  std::string name = {};
  ChakraNodeType type = ChakraNodeType::kCompute;
  std::vector<std::uint64_t> data_deps = {};  ///< ids of the nodes for whose end this node waits
  std::uint64_t start_micros = 0;             ///< us on the file's clock; 0 also if unknown
  std::uint64_t duration_micros = 0;
  std::string input_shapes = {};  ///< a list as Python prints it: "[[2, 3]]"
  std::string input_types = {};   ///< likewise: "['Tensor(float)']"
  std::vector<ChakraAttribute> attributes = {};
  bool operator==(const ChakraNode&) const = default;
};

struct ExecutionTrace {
  std::string version = {};  ///< of the schema
  std::vector<ChakraAttribute> attributes = {};
  std::vector<ChakraNode> nodes = {};
  bool operator==(const ExecutionTrace&) const = default;
};

/// Names of nodes that mark steps and gradients, as PyTorch's observer writes them. The first two
/// are prefixes.
inline constexpr const char* kChakraStep = "ProfilerStep#";
inline constexpr const char* kChakraBackward = "autograd::engine::evaluate_function";
inline constexpr const char* kChakraReady = "torch::autograd::AccumulateGrad";

/// Maximum of a start time and of a duration, in us: above any clock's value, and below every
/// negative number that a 64-bit field has as an unsigned one.
inline constexpr std::uint64_t kMaxChakraMicros = 1'000'000'000'000'000'000;

/// Returns whether this build contains the protobuf library.
bool has_protobuf();
/// Checks that it does. @throws RunError with the packages to install. `what` opens the message.
void require_protobuf(const std::string& what);

/// Returns whether a Chakra trace is in protobuf, not in JSON.
bool is_execution_trace(std::span<const std::byte> file);

/// Parses a whole file of at most 512 MiB, 64 MiB a message and 10 million nodes.
/// @param name the file's name in messages.
/// @throws InputError naming file and message or node, for bytes that are not these messages, and
/// as check_execution_trace(). RunError without the library.
ExecutionTrace read_execution_trace(std::span<const std::byte> file, const std::string& name);

/// Returns the bytes of a file. @throws RunError without the library.
std::string execution_trace_bytes(const ExecutionTrace& trace);

/// Checks types and times of all nodes, that ids are unique, that every data dependency is a node
/// of the file, and that no node waits for itself.
/// @throws InputError naming file and node.
void check_execution_trace(const ExecutionTrace& trace, const std::string& name);

}  // namespace thinpipe
