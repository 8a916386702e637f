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

constexpr const char* kReady = "torch::autograd::AccumulateGrad";
constexpr const char* kBackward = "autograd::engine::evaluate_function";
constexpr const char* kStep = "ProfilerStep#";
constexpr double kMicrosecond = 1e-6;
constexpr double kLatest = 1e18;  // us; above any clock's value
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
  std::string name;
  JsonField field;
  std::optional<Span> span;
};

std::optional<Span> parse_span(const JsonField& node) {
  if (!node.has("ts") || !node.has("inclusive_dur")) return std::nullopt;
  const double begin = node.at("ts").number(0, kLatest) * kMicrosecond;
  return Span{begin, begin + node.at("inclusive_dur").number(0, kLatest) * kMicrosecond};
}

/// Returns the shape of AccumulateGrad's one input: the gradient, which has the parameter's shape.
/// Schema 1.0 has `input_shapes` in the node, 1.1 has `inputs.shapes`.
std::vector<std::int64_t> parse_gradient_shape(const JsonField& node, const std::string& file) {
  const bool nested = node.at("inputs").value().is_object();
  const JsonField shapes = nested ? node.at("inputs").at("shapes") : node.at("input_shapes");
  const JsonField types = nested ? node.at("inputs").at("types") : node.at("input_types");
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
  // Without step annotations the whole file is one step, which begins at the first relevant node.
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
        fmt::format("expected nodes named \"{}\", one for each parameter; found none", kReady));
  }
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].shapes == steps.front().shapes) continue;
    root.at("nodes").fail(
        fmt::format("the gradients of step {} differ from the first step's in number, order or "
                    "shape ({} against {})",
                    i, steps[i].shapes.size(), steps.front().shapes.size()));
  }
  return steps;
}

ImportSummary import_chakra(const std::vector<ImportFile>& files, const fs::path& input,
                            const fs::path& out, const ImportOptions& options) {
  std::vector<std::vector<ChakraStep>> ranks;
  for (const ImportFile& file : files) {
    const std::string shown = file.place.string();
    ranks.push_back(
        parse_chakra(parse_json_file(MappedFile(file.place), shown, kMaxJsonBytes), shown));
    const auto& first = ranks.front();
    if (ranks.back().size() != first.size() ||
        ranks.back().front().shapes != first.front().shapes) {
      throw InputError(fmt::format(
          "{}: {} steps of {} gradients, expected {} of {}, of the same shapes, as in {}", shown,
          ranks.back().size(), ranks.back().front().shapes.size(), first.size(),
          first.front().shapes.size(), files.front().place.string()));
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
