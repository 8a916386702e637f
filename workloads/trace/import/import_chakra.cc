// Shapes and times from Chakra traces; values are drawn.
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "base/error.h"
#include "workloads/trace/draws.h"
#include "workloads/trace/import/assumed.h"
#include "workloads/trace/import/chakra.h"
#include "workloads/trace/json_fields.h"
#include "workloads/trace/mapped_file.h"
#include "workloads/trace/safetensors.h"
#include "workloads/trace/trace_format.h"
#include "workloads/trace/trace_writer.h"

namespace thinpipe {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMostJsonBytes = std::size_t{512} << 20;
// 8 GiB of values a step and rank, all of which are in memory at once.
constexpr std::size_t kMostElements = std::size_t{1} << 31;

json parse_json_file(const fs::path& path) {
  const MappedFile file(path);
  if (file.bytes().size() > kMostJsonBytes) {
    throw InputError(fmt::format("{}: {} bytes, expected at most {}", path.string(),
                                 file.bytes().size(), kMostJsonBytes));
  }
  const auto* text = reinterpret_cast<const char*>(file.bytes().data());
  return parse_json_strictly({text, file.bytes().size()}, path.string());
}

/// A Laplace variate of scale b.
float laplace_draw(Draws& draws, double scale) {
  const double centred = draws.uniform() - 0.5;
  return static_cast<float>(std::copysign(scale * std::log1p(-2 * std::fabs(centred)), -centred));
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

ImportSummary import_chakra(const std::vector<ImportFile>& files, const fs::path& input,
                            const fs::path& out, const ImportOptions& options) {
  std::vector<std::vector<ChakraStep>> ranks;
  for (const ImportFile& file : files) {
    ranks.push_back(parse_chakra(parse_json_file(file.place), file.place.string()));
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
    if (more > kMostElements - elements) {
      throw InputError(
          fmt::format("{}: more than {} elements of gradients; values are drawn for all of them",
                      files.front().place.string(), kMostElements));
    }
    elements += more;
  }
  TraceDescription description;
  description.model = imported_model(options, input);
  description.origin = kOriginSynthetic;
  description.ranks = ranks.size();
  // The names of parameters are not in the file. They are numbered against the order in which they
  // become ready, which is about the order of the model.
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
        for (float& value : drawn) value = laplace_draw(draws, options.scale);
      }
      const std::vector<std::span<const float>> gradients(values.begin(), values.end());
      ChakraStep step = ranks[rank][s];
      step.has_times = has_times;  // of all or of none: a mixture would be nobody's run
      writer.add(s, rank, times_of(step, description.tensors, options), gradients);
    }
  }
  writer.finish();
  return summary;
}

}  // namespace thinpipe
