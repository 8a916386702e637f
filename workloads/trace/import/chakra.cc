#include "workloads/trace/import/chakra.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "workloads/trace/json_fields.h"
#include "workloads/trace/safetensors.h"

namespace thinpipe {

namespace {

using nlohmann::json;

constexpr const char* kReady = "torch::autograd::AccumulateGrad";
constexpr const char* kBackward = "autograd::engine::evaluate_function";
constexpr const char* kStep = "ProfilerStep#";
constexpr double kMicrosecond = 1e-6;
constexpr double kLatest = 1e18;  // us; later than any clock's

/// When a node ran, s on the file's clock.
struct Span {
  double begin = 0;
  double end = 0;
};

/// A node that is about a step or a gradient.
struct Node {
  std::uint64_t id = 0;  // grows in the order in which operators were entered
  std::string name;
  JsonField field;
  std::optional<Span> span;
};

std::optional<Span> parse_span(const JsonField& node) {
  if (!node.has("ts") || !node.has("inclusive_dur")) return std::nullopt;
  const double begin = node.at("ts").number(0, kLatest) * kMicrosecond;
  return Span{begin, begin + node.at("inclusive_dur").number(0, kLatest) * kMicrosecond};
}

/// The shape of the one tensor that AccumulateGrad is given: the gradient, so also the parameter.
/// Schema 1.0 has `input_shapes` in the node, 1.1 has `inputs.shapes`.
std::vector<std::int64_t> parse_gradient_shape(const JsonField& node, const std::string& file) {
  const bool nested = node.at("inputs").value().is_object();
  const JsonField shapes = nested ? node.at("inputs").at("shapes") : node.at("input_shapes");
  const JsonField types = nested ? node.at("inputs").at("types") : node.at("input_types");
  if (shapes.size() != 1 || types.size() != 1) {
    shapes.fail(fmt::format("{} inputs, expected the gradient alone", shapes.size()));
  }
  const std::string type = types.at(std::size_t{0}).string();
  if (!type.starts_with("Tensor(")) {
    types.fail("expected a tensor, found \"" + printable(type) + "\"");
  }
  const JsonField dimensions = shapes.at(std::size_t{0});
  std::vector<std::int64_t> shape;
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (std::size_t axis = 0; axis < dimensions.size(); ++axis) {
    shape.push_back(static_cast<std::int64_t>(dimensions.at(axis).unsigned_integer(1, kMost)));
  }
  shape_elements(shape, file + ": " + dimensions.place());
  return shape;
}

std::vector<Node> relevant_nodes(const JsonField& root) {
  std::vector<Node> nodes;
  const JsonField all = root.at("nodes");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const JsonField field = all.at(i);
    std::string name = field.at("name").string();
    if (name != kReady && !name.starts_with(kBackward) && !name.starts_with(kStep)) continue;
    const std::uint64_t id = field.at("id").unsigned_integer();
    nodes.push_back({id, std::move(name), field, parse_span(field)});
  }
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const Node& a, const Node& b) { return a.id < b.id; });
  return nodes;
}

/// A step while its nodes are gone through.
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

}  // namespace

std::vector<ChakraStep> parse_chakra(const json& document, const std::string& file) {
  const JsonField root(document, file);
  const std::string schema = root.at("schema").string();
  if (!schema.starts_with("1.")) {
    root.at("schema").fail("expected version 1.x, found \"" + printable(schema) + "\"");
  }
  // Without step annotations the whole file is one step, which begins with what is marked first.
  OpenStep open;
  std::vector<ChakraStep> steps;
  const auto close = [&] {
    if (!open.step.shapes.empty()) steps.push_back(finished(std::exchange(open, {})));
    open = {};
  };
  for (const Node& node : relevant_nodes(root)) {
    if (node.name.starts_with(kStep)) {
      close();
      open.whole = node.span;
    } else if (node.name == kReady) {
      open.step.shapes.push_back(parse_gradient_shape(node.field, file));
      open.ready.push_back(node.span);
    } else if (node.span) {
      open.backward_begin =
          std::min(open.backward_begin.value_or(node.span->begin), node.span->begin);
    }
  }
  close();
  if (steps.empty()) {
    root.at("nodes").fail(
        fmt::format("expected nodes named \"{}\", one a parameter; found none", kReady));
  }
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].shapes == steps.front().shapes) continue;
    root.at("nodes").fail(
        fmt::format("the gradients of step {} differ from those of the first in number, order or "
                    "shape ({} against {})",
                    i, steps[i].shapes.size(), steps.front().shapes.size()));
  }
  return steps;
}

}  // namespace thinpipe
