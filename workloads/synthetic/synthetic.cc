#include "workloads/synthetic/synthetic.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "workloads/models/catalogue.h"
#include "workloads/synthetic/fit.h"
#include "workloads/synthetic/source.h"

namespace thinpipe {
namespace {

// Raised when the same text begins to mean other values.
constexpr const char* kGenerator = "synthetic-3:";

std::vector<TraceTensor> model_tensors(const ModelInfo& model) {
  std::vector<TraceTensor> tensors;
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    const ModelTensor& tensor = model.tensors[i];
    tensors.push_back({tensor.name, tensor.shape, tensor.elements, model.ready_order(i)});
  }
  return tensors;
}

TraceStepTimes model_times(const ModelInfo& model) {
  TraceStepTimes times;
  times.forward = model.times[0].forward;
  times.backward = model.times[0].backward;
  for (const double share : model.ready_shares()) times.ready.push_back(share * times.backward);
  times.loss = std::numeric_limits<double>::quiet_NaN();
  return times;
}

std::vector<std::vector<TraceStepTimes>> captured_times(const Trace& trace) {
  std::vector<std::vector<TraceStepTimes>> times(trace.ranks());
  for (std::size_t rank = 0; rank < trace.ranks(); ++rank) {
    for (std::size_t step = 0; step < trace.steps(); ++step) {
      times[rank].push_back(trace.times(rank, step));
      times[rank].back().loss = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return times;
}

std::size_t largest(const std::vector<TraceTensor>& tensors) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].elements > tensors[found].elements) found = i;
  }
  return found;
}

/// Like which captured tensor every tensor is drawn.
std::vector<std::size_t> drawn_like(const SyntheticSpec& spec,
                                    const std::vector<TraceTensor>& tensors,
                                    const std::vector<TraceTensor>& captured) {
  if (spec.elements > 0) return {largest(captured)};
  return match_tensors(tensors, captured);
}

}  // namespace

std::vector<std::int64_t> nearly_square(std::size_t elements) {
  const auto d = static_cast<std::int64_t>(elements);
  auto rows = static_cast<std::int64_t>(std::sqrt(static_cast<double>(d)));
  while (rows > 1 && d % rows != 0) --rows;
  if (rows <= 1) return {d};
  return {rows, d / rows};
}

Trace make_synthetic(const SyntheticSpec& spec) {
  std::optional<Trace> captured;
  if (spec.is_fit()) captured.emplace(spec.trace);
  GeneratedTrace trace;
  trace.text = spec.to_string();
  trace.identity =
      kGenerator +
      spec.text(captured ? captured->identity() : "").substr(std::string("synthetic:").size());
  trace.ranks = spec.workers;
  trace.steps = spec.steps;
  trace.metadata = {{"origin", "synthetic"}, {"spec", trace.text}};

  std::vector<std::vector<TraceStepTimes>> times;
  if (!spec.model.empty()) {
    const ModelInfo& model = find_model(spec.model);
    trace.model = model.name;
    trace.tensors = model_tensors(model);
    times = {{model_times(model)}};
    trace.metadata["provenance"] = {{"times", model.times[0].source}};
    if (model.times[0].kind == ModelTimes::Kind::kEstimated)
      trace.metadata["provenance"]["device"] = model.times[0].device;
    else
      trace.metadata["provenance"]["cpu"] = model.times[0].device;
  } else if (spec.elements > 0) {
    trace.model = "gradient";
    trace.tensors = {{"gradient", nearly_square(spec.elements), spec.elements, 0}};
    times = {{TraceStepTimes{.forward = 0,
                             .backward = 0,
                             .ready = {0},
                             .loss = std::numeric_limits<double>::quiet_NaN()}}};
  } else {
    trace.model = captured->model();
    trace.tensors = captured->tensors();
    times = captured_times(*captured);
  }

  std::vector<SyntheticSource::Tensor> drawn;
  const auto made = [&](const ValueDistribution& distribution) {
    return std::make_shared<const DrawnDistribution>(distribution, spec.rho_step, spec.rho_worker);
  };
  if (captured) {
    std::map<std::size_t, std::shared_ptr<const DrawnDistribution>> fits;
    const auto like = drawn_like(spec, trace.tensors, captured->tensors());
    for (std::size_t i = 0; i < trace.tensors.size(); ++i) {
      auto& fit = fits[like[i]];
      if (!fit) fit = made(fit_tensor(*captured, like[i]));
      drawn.push_back({trace.tensors[i].name, trace.tensors[i].elements, fit, 1});
    }
  } else {
    const auto family = made(make_family(spec.distribution, spec.family));
    for (const TraceTensor& tensor : trace.tensors) {
      drawn.push_back({tensor.name, tensor.elements, family, static_cast<float>(spec.scale)});
    }
  }
  for (const TraceTensor& tensor : trace.tensors) {
    trace.bytes_per_rank += tensor.elements * sizeof(float);
    if (spec.rho_step > 0) trace.bytes_per_rank += latent_count(tensor.elements) * 2;
  }
  trace.source = std::make_unique<SyntheticSource>(std::move(drawn), spec.workers, spec.steps,
                                                   spec.seed, std::move(times));
  return Trace(std::move(trace));
}

Trace open_gradients(const std::filesystem::path& folder_or_text) {
  const std::string text = folder_or_text.string();
  if (is_synthetic(text)) return make_synthetic(parse_synthetic_spec(text));
  return Trace(folder_or_text);
}

std::string absolute_gradients(const std::filesystem::path& folder_or_text) {
  const std::string text = folder_or_text.string();
  if (is_synthetic(text)) return parse_synthetic_spec(text).to_string();
  return std::filesystem::absolute(folder_or_text).string();
}

}  // namespace thinpipe
