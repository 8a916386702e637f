// Messages of execution traces with the protobuf library (execution_trace.h). no_protobuf.cc is
// compiled in its place where the library is missing.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include <execution_trace.pb.h>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message_lite.h>

#include "base/error.h"
#include "workloads/trace/chakra/execution_trace.h"

namespace thinpipe {
namespace {

namespace proto = ::ChakraProtoMsg;
using google::protobuf::MessageLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr std::size_t kMaxTraceBytes = std::size_t{512} << 20;  // as of a trace in JSON
// The limit that protobuf itself had by default. Nodes have some hundred bytes.
constexpr std::size_t kMaxMessageBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxNodes = 10'000'000;  // 2 GB as ChakraNode
constexpr std::size_t kMaxVarintBytes = 10;

/// Takes the messages off the front of a file.
class ChakraMessages {
 public:
  ChakraMessages(std::span<const std::byte> file, const std::string& name)
      : left_(file), name_(name) {}

  bool ended() const { return left_.empty(); }

  /// Parses the next message. @param kind  its name in the schema
  void next(MessageLite& message, const char* kind) {
    ++number_;
    const std::span<const std::byte> bytes = take();
    if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      fail(std::string("expected ") + kind + ", found other bytes");
    }
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("{}: message {}: {}", name_, number_, what));
  }

 private:
  std::span<const std::byte> take() {
    CodedInputStream in(reinterpret_cast<const std::uint8_t*>(left_.data()),
                        static_cast<int>(std::min(left_.size(), kMaxVarintBytes)));
    std::uint64_t length = 0;
    if (!in.ReadVarint64(&length)) fail("length: expected a varint, or the file is truncated");
    const auto begin = static_cast<std::size_t>(in.CurrentPosition());
    const std::size_t most = std::min(left_.size() - begin, kMaxMessageBytes);
    if (length > most) {
      fail(fmt::format("length: found {} bytes, expected at most {}{}", length, most,
                       most < kMaxMessageBytes ? "; the file may be truncated" : ""));
    }
    const auto bytes = left_.subspan(begin, static_cast<std::size_t>(length));
    left_ = left_.subspan(begin + bytes.size());
    return bytes;
  }

  std::span<const std::byte> left_;
  const std::string& name_;
  std::size_t number_ = 0;
};

// Returns nothing for a value of another type.
std::optional<ChakraAttribute> attribute_from(const proto::AttributeProto& from) {
  switch (from.value_case()) {
    case proto::AttributeProto::kInt64Val:
      return ChakraAttribute{from.name(), std::int64_t{from.int64_val()}};
    case proto::AttributeProto::kBoolVal:
      return ChakraAttribute{from.name(), from.bool_val()};
    case proto::AttributeProto::kStringVal:
      return ChakraAttribute{from.name(), from.string_val()};
    case proto::AttributeProto::VALUE_NOT_SET:
      break;
  }
  return std::nullopt;
}

ChakraNode node_from(const proto::Node& from) {
  ChakraNode node;
  node.id = from.id();
  node.name = from.name();
  node.type = static_cast<ChakraNodeType>(from.type());
  node.data_deps.assign(from.data_deps().begin(), from.data_deps().end());
  node.start_micros = from.start_time_micros();
  node.duration_micros = from.duration_micros();
  node.input_shapes = from.inputs().shapes();
  node.input_types = from.inputs().types();
  for (const proto::AttributeProto& one : from.attr()) {
    if (const auto attribute = attribute_from(one)) node.attributes.push_back(*attribute);
  }
  return node;
}

void set_attribute(const ChakraAttribute& from, proto::AttributeProto& to) {
  to.set_name(from.name);
  if (const auto* number = std::get_if<std::int64_t>(&from.value)) {
    to.set_int64_val(*number);
  } else if (const auto* flag = std::get_if<bool>(&from.value)) {
    to.set_bool_val(*flag);
  } else {
    to.set_string_val(std::get<std::string>(from.value));
  }
}

void set_node(const ChakraNode& from, proto::Node& to) {
  to.set_id(from.id);
  to.set_name(from.name);
  to.set_type(static_cast<proto::NodeType>(from.type));
  for (const std::uint64_t id : from.data_deps) to.add_data_deps(id);
  to.set_start_time_micros(from.start_micros);
  to.set_duration_micros(from.duration_micros);
  if (!from.input_shapes.empty()) to.mutable_inputs()->set_shapes(from.input_shapes);
  if (!from.input_types.empty()) to.mutable_inputs()->set_types(from.input_types);
  for (const ChakraAttribute& attribute : from.attributes) set_attribute(attribute, *to.add_attr());
}

void append_message(const MessageLite& message, std::string& bytes) {
  const std::string body = message.SerializeAsString();
  std::array<std::uint8_t, kMaxVarintBytes> length{};
  const std::uint8_t* const end = CodedOutputStream::WriteVarint32ToArray(
      static_cast<std::uint32_t>(body.size()), length.data());
  bytes.append(reinterpret_cast<const char*>(length.data()),
               static_cast<std::size_t>(end - length.data()));
  bytes += body;
}

}  // namespace

bool has_protobuf() { return true; }

ExecutionTrace read_execution_trace(std::span<const std::byte> file, const std::string& name) {
  if (file.size() > kMaxTraceBytes) {
    throw InputError(
        fmt::format("{}: {} bytes, expected at most {}", name, file.size(), kMaxTraceBytes));
  }
  ChakraMessages messages(file, name);
  ExecutionTrace trace;
  proto::GlobalMetadata metadata;
  messages.next(metadata, "GlobalMetadata");
  trace.version = metadata.version();
  for (const proto::AttributeProto& one : metadata.attr()) {
    if (const auto attribute = attribute_from(one)) trace.attributes.push_back(*attribute);
  }
  // The fields of a Node have other types than those of GlobalMetadata with the same numbers, so
  // they are unknown fields here. In proto3, only the size of a message shows these.
  metadata.clear_version();
  metadata.clear_attr();
  if (metadata.ByteSizeLong() > 0) {
    messages.fail("expected GlobalMetadata, found fields of another message");
  }
  while (!messages.ended()) {
    proto::Node node;
    messages.next(node, "Node");
    if (trace.nodes.size() == kMaxNodes) {
      messages.fail(fmt::format("expected at most {} nodes", kMaxNodes));
    }
    trace.nodes.push_back(node_from(node));
  }
  check_execution_trace(trace, name);
  return trace;
}

std::string execution_trace_bytes(const ExecutionTrace& trace) {
  std::string bytes;
  proto::GlobalMetadata metadata;
  metadata.set_version(trace.version);
  for (const ChakraAttribute& attribute : trace.attributes) {
    set_attribute(attribute, *metadata.add_attr());
  }
  append_message(metadata, bytes);
  for (const ChakraNode& node : trace.nodes) {
    proto::Node message;
    set_node(node, message);
    append_message(message, bytes);
  }
  return bytes;
}

}  // namespace thinpipe
