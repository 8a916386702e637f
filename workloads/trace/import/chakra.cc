#include "workloads/trace/import/chakra.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "workloads/trace/chakra/execution_trace.h"
#include "workloads/trace/draws.h"
#include "workloads/trace/import/input_files.h"
#include "workloads/trace/json_fields.h"
#include "workloads/trace/mapped_file.h"
#include "workloads/trace/safetensors.h"
#include "workloads/trace/trace.h"
#include "workloads/trace/trace_format.h"
#include "workloads/trace/trace_writer.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kMicrosecond = 1e-6;
constexpr auto kLatest = static_cast<double>(kMaxChakraMicros);
constexpr std::size_t kMaxJsonBytes = std::size_t{512} << 20;
// 8 GiB of values for each step and rank, all in memory at once.
constexpr std::size_t kMaxTraceElements = std::size_t{1} << 31;

/// The interval in which a node ran, in s on the file's clock.
struct Span {
  double begin = 0;
  double end = 0;
};

/// A node that marks a step or a gradient.
struct Node {
  std::uint64_t id = 0;  // grows in the order in which operators were entered
  std::string name = {};
  std::vector<std::int64_t> shape = {};  // of a gradient
  std::optional<Span> span = {};
};

bool is_ready_node(const std::string& name) { return name == kChakraReady; }
bool is_step_node(const std::string& name) { return name.starts_with(kChakraStep); }
bool is_relevant(const std::string& name) {
  return is_ready_node(name) || is_step_node(name) || name.starts_with(kChakraBackward);
}

std::optional<Span> parse_span(const JsonField& node) {
  if (!node.has("ts") || !node.has("inclusive_dur")) return std::nullopt;
  const double begin = node.at("ts").number(0, kLatest) * kMicrosecond;
  return Span{begin, begin + node.at("inclusive_dur").number(0, kLatest) * kMicrosecond};
}

/// Returns the shape of AccumulateGrad's one input: the gradient, which has the parameter's shape.
std::vector<std::int64_t> parse_gradient_shape(const JsonField& shapes, const JsonField& types,
                                               const std::string& file) {
  if (shapes.size() != 1 || types.size() != 1) {
    shapes.fail(fmt::format("{} inputs, expected one: the gradient", shapes.size()));
  }
  const std::string type = types.at(std::size_t{0}).string();
  if (!type.starts_with("Tensor(")) {
    types.fail("expected a tensor, found \"" + printable(type) + "\"");
  }
  const JsonField dimensions = shapes.at(std::size_t{0});
  const std::vector<std::int64_t> shape = dimensions.shape(1);
  shape_elements(shape, file + ": " + dimensions.place());
  return shape;
}

/// Returns the relevant nodes of a trace in JSON. Schema 1.0 has `input_shapes` in the node, 1.1
/// has `inputs.shapes`.
std::vector<Node> nodes_in_json(const JsonField& root, const std::string& file) {
  std::vector<Node> nodes;
  const JsonField all = root.at("nodes");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const JsonField field = all.at(i);
    Node node;
    node.name = field.at("name").string();
    if (!is_relevant(node.name)) continue;
    node.id = field.at("id").unsigned_integer();
    node.span = parse_span(field);
    if (is_ready_node(node.name)) {
      const bool nested = field.at("inputs").value().is_object();
      node.shape = parse_gradient_shape(
          nested ? field.at("inputs").at("shapes") : field.at("input_shapes"),
          nested ? field.at("inputs").at("types") : field.at("input_types"), file);
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

/// Returns the relevant nodes of a trace in protobuf.
std::vector<Node> nodes_in_protobuf(const ExecutionTrace& trace, const std::string& file) {
  // A start time that is missing reads as 0. A file has no times if all are missing.
  const bool timed = std::any_of(trace.nodes.begin(), trace.nodes.end(),
                                 [](const ChakraNode& node) { return node.start_micros > 0; });
  std::vector<Node> nodes;
  for (const ChakraNode& from : trace.nodes) {
    if (!is_relevant(from.name)) continue;
    Node node{.id = from.id, .name = from.name};
    if (timed) {
      const double begin = static_cast<double>(from.start_micros) * kMicrosecond;
      node.span = Span{begin, begin + static_cast<double>(from.duration_micros) * kMicrosecond};
    }
    if (is_ready_node(from.name)) {
      // Python's text of a list of numbers is JSON. In its text of a list of strings, other quotes
      // surround each string.
      std::string quoted = from.input_types;
      std::replace(quoted.begin(), quoted.end(), '\'', '"');
      const std::string place = fmt::format("node {}: inputs", from.id);
      const json shapes =
          parse_json_strictly(from.input_shapes, fmt::format("{}: {}.shapes", file, place));
      const json types = parse_json_strictly(quoted, fmt::format("{}: {}.types", file, place));
      node.shape = parse_gradient_shape(JsonField(shapes, file, place + ".shapes"),
                                        JsonField(types, file, place + ".types"), file);
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

/// A step whose nodes are being processed.
struct OpenStep {
  ChakraStep step;
  std::optional<Span> whole;
  std::optional<double> backward_begin;
  std::vector<std::optional<Span>> ready;
};

ChakraStep finished(OpenStep open) {
  ChakraStep& step = open.step;
  step.has_times = open.whole && open.backward_begin &&
                   std::all_of(open.ready.begin(), open.ready.end(),
                               [](const auto& span) { return span.has_value(); });
  if (!step.has_times) return step;
  step.forward = std::max(0.0, *open.backward_begin - open.whole->begin);
  for (const auto& span : open.ready) {
    step.ready.push_back(std::max(0.0, span->end - *open.backward_begin));
    step.backward = std::max(step.backward, step.ready.back());
  }
  return step;
}

/// Returns the training steps that these nodes mark.
/// @param where  opens messages
std::vector<ChakraStep> chakra_steps(std::vector<Node> nodes, const std::string& where) {
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const Node& a, const Node& b) { return a.id < b.id; });
  // Without step annotations the whole file is one step, which begins at the first relevant node.
  OpenStep open;
  std::vector<ChakraStep> steps;
  const auto close = [&] {
    if (!open.step.shapes.empty()) steps.push_back(finished(std::exchange(open, {})));
    open = {};
  };
  for (const Node& node : nodes) {
    if (is_step_node(node.name)) {
      close();
      open.whole = node.span;
    } else if (is_ready_node(node.name)) {
      open.step.shapes.push_back(node.shape);
      open.ready.push_back(node.span);
    } else if (node.span) {
      open.backward_begin =
          std::min(open.backward_begin.value_or(node.span->begin), node.span->begin);
    }
  }
  close();
  if (steps.empty()) {
    throw InputError(
        fmt::format("{}: expected nodes named \"{}\", one for each parameter; found none", where,
                    kChakraReady));
  }
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].shapes == steps.front().shapes) continue;
    throw InputError(
        fmt::format("{}: the gradients of step {} differ from the first step's in number, order or "
                    "shape ({} against {})",
                    where, i, steps[i].shapes.size(), steps.front().shapes.size()));
  }
  return steps;
}

std::vector<ChakraStep> read_chakra(const ImportFile& file) {
  const std::string shown = file.place.string();
  const MappedFile mapped(file.place);
  if (is_execution_trace(mapped.bytes())) {
    return parse_chakra(read_execution_trace(mapped.bytes(), shown), shown);
  }
  return parse_chakra(parse_json_file(mapped, shown, kMaxJsonBytes), shown);
}

TraceStepTimes times_of(const ChakraStep& step, const std::vector<TraceTensor>& tensors,
                        const ImportOptions& options) {
  TraceStepTimes times = assumed_times(options, tensors);
  if (!step.has_times) return times;
  times.forward = step.forward;
  times.backward = step.backward;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    times.ready[i] = step.ready[tensors[i].ready_order];
  }
  return times;
}

}  // namespace

std::vector<ChakraStep> parse_chakra(const json& document, const std::string& file) {
  const JsonField root(document, file);
  const std::string schema = root.at("schema").string();
  if (!schema.starts_with("1.")) {
    root.at("schema").fail("expected version 1.x, found \"" + printable(schema) + "\"");
  }
  return chakra_steps(nodes_in_json(root, file), file + ": nodes");
}

std::vector<ChakraStep> parse_chakra(const ExecutionTrace& trace, const std::string& file) {
  return chakra_steps(nodes_in_protobuf(trace, file), file);
}

ImportSummary import_chakra(const std::vector<ImportFile>& files, const fs::path& input,
                            const fs::path& out, const ImportOptions& options) {
  std::vector<std::vector<ChakraStep>> ranks;
  for (const ImportFile& file : files) {
    ranks.push_back(read_chakra(file));
    const auto& first = ranks.front();
    if (ranks.back().size() != first.size() ||
        ranks.back().front().shapes != first.front().shapes) {
      throw InputError(fmt::format(
          "{}: {} steps of {} gradients, expected {} of {}, of the same shapes, as in {}",
          file.place.string(), ranks.back().size(), ranks.back().front().shapes.size(),
          first.size(), first.front().shapes.size(), files.front().place.string()));
    }
  }
  const auto& shapes = ranks.front().front().shapes;
  bool has_times = true;
  for (const auto& steps : ranks) {
    for (const ChakraStep& step : steps) has_times = has_times && step.has_times;
  }
  std::size_t elements = 0;
  for (const auto& shape : shapes) {
    const std::size_t more = shape_elements(shape, files.front().place.string());
    if (more > kMaxTraceElements - elements) {
      throw InputError(
          fmt::format("{}: more than {} elements of gradients, and each needs a drawn value",
                      files.front().place.string(), kMaxTraceElements));
    }
    elements += more;
  }
  TraceDescription description;
  description.model = imported_model(options, input);
  description.origin = kOriginSynthetic;
  description.ranks = ranks.size();
  // The file does not name parameters. Numbers in reverse ready order approximate the order of the
  // model.
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    TraceTensor tensor;
    tensor.name = fmt::format("parameter-{:03d}", i);
    tensor.ready_order = shapes.size() - 1 - i;
    tensor.shape = shapes[tensor.ready_order];
    tensor.elements = shape_elements(tensor.shape, tensor.name);
    description.tensors.push_back(std::move(tensor));
  }
  const std::vector<std::string> real =
      has_times ? std::vector<std::string>{"shapes", "ready_order", "forward", "backward", "ready"}
                : std::vector<std::string>{"shapes", "ready_order"};
  description.provenance = {{"program", "thinpipe trace import"},
                            {"format", "chakra"},
                            {"real", real},
                            {"synthetic", {"values", "names"}},
                            {"distribution", "laplace"},
                            {"scale", options.scale},
                            {"seed", options.seed}};
  if (!has_times) description.provenance["assumed"] = {"forward", "backward", "ready"};

  ImportSummary summary{ImportFormat::kChakra,
                        files.size(),
                        ranks.front().size(),
                        ranks.size(),
                        shapes.size(),
                        elements,
                        has_times,
                        true};
  TraceWriter writer(out, description);
  Draws draws(options.seed);
  for (std::size_t s = 0; s < summary.steps; ++s) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      std::vector<std::vector<float>> values;
      for (const TraceTensor& tensor : description.tensors) {
        std::vector<float>& drawn = values.emplace_back(tensor.elements);
        for (float& value : drawn) value = draws.laplace(options.scale);
      }
      const std::vector<std::span<const float>> gradients(values.begin(), values.end());
      ChakraStep step = ranks[rank][s];
      step.has_times = has_times;  // for all or none: no run has a mixture of both
      writer.add(s, rank, times_of(step, description.tensors, options), gradients);
    }
  }
  writer.finish();
  return summary;
}

}  // namespace thinpipe
