#include "workloads/synthetic/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/key_values.h"
#include "base/text.h"
#include "compressors/kernels/buffer.h"
#include "compressors/kernels/random.h"
#include "workloads/models/catalogue.h"
#include "workloads/synthetic/draw.h"
#include "workloads/synthetic/tables.h"

namespace thinpipe {
namespace {

// The text.

constexpr std::string_view kPrefix = "synthetic:";
constexpr std::uint64_t kMaxSpecElements = std::uint64_t{1} << 40;

// Returns the value of `key`, a whole number from `least` to `most`. The number's text may end in
// k, m or g (10^3, 10^6, 10^9). Returns `otherwise` if the key is absent.
std::uint64_t take_elements(KeyValues& items, const std::string& key, std::uint64_t otherwise,
                            std::uint64_t least, std::uint64_t most) {
  const std::optional<std::string> given = items.find(key);
  if (!given) return otherwise;
  std::string digits = *given;
  std::uint64_t factor = 1;
  if (const std::size_t suffix = std::string_view("kmg").find(digits.back());
      suffix != std::string_view::npos) {
    for (std::size_t i = 0; i <= suffix; ++i) factor *= 1000;
    digits.pop_back();
  }
  const auto number = parse_number<std::uint64_t>(digits, 0, most / factor);
  if (!number || *number * factor < least)
    items.fail_value(key, *given,
                     fmt::format("expected a whole number from {} to {}", least, most));
  return *number * factor;
}

bool takes_shape(const std::string& distribution) {
  return distribution == "gamma" || distribution == "gpareto";
}

std::string parse_distribution(KeyValues& items) {
  std::vector<std::string> names = family_names();  // the first, laplace, is the default
  names.push_back("fit");
  return names[items.choice("dist", names)];
}

void parse_family(KeyValues& items, SyntheticSpec& spec) {
  const std::string& name = spec.distribution;
  // The heaviest tails reach 7e19 at 2^-33, and floats 3e38.
  spec.scale = items.number("scale", spec.scale, 1e-10, 1e10);
  if (name == "gamma") spec.family.shape = items.number("shape", 0.5, 0.1, 20);
  if (name == "gpareto") spec.family.shape = items.number("shape", 0.2, 0, 2);
  if (name == "student") spec.family.dof = items.number("dof", 3, 0.5, 1000);
  spec.family.zeros = items.number("zeros", name == "bernoulli-gaussian" ? 0.9 : 0, 0, 1);
  if (spec.family.zeros == 1) items.fail("zeros=1: expected a fraction below 1");
}

void check_together(const KeyValues& items, const SyntheticSpec& spec) {
  if (!spec.model.empty() && spec.elements > 0) items.fail("model and elements exclude each other");
  if (spec.is_fit()) {
    if (spec.trace.empty()) items.fail("dist=fit needs trace=FOLDER, the captured trace to fit");
  } else if (spec.model.empty() && spec.elements == 0) {
    items.fail("expected model=NAME (see `thinpipe list models`) or elements=N");
  }
  if (!spec.model.empty()) find_model(spec.model);
  const bool finite =
      make_family(spec.is_fit() ? "laplace" : spec.distribution, spec.family).finite_variance;
  if (spec.correlated() && !finite) {
    items.fail(
        "a correlation needs a finite variance: gpareto with shape below 0.5, student with dof "
        "above 2");
  }
}

}  // namespace

bool is_synthetic(std::string_view text) { return text.starts_with(kPrefix); }

std::string SyntheticSpec::text(const std::string& in_place_of_trace) const {
  std::string text(kPrefix);
  const auto add = [&](const char* key, const auto& value) {
    text += fmt::format("{}{}={}", text.size() == kPrefix.size() ? "" : ",", key, value);
  };
  if (!model.empty()) add("model", model);
  if (elements > 0) add("elements", elements);
  add("dist", distribution);
  if (is_fit()) {
    add("trace", in_place_of_trace);
  } else {
    if (takes_shape(distribution)) add("shape", family.shape);
    if (distribution == "student") add("dof", family.dof);
    if (family.zeros > 0 || distribution == "bernoulli-gaussian") add("zeros", family.zeros);
    add("scale", scale);
  }
  add("workers", workers);
  add("steps", steps);
  add("rho_step", rho_step);
  add("rho_worker", rho_worker);
  add("seed", seed);
  return text;
}

SyntheticSpec parse_synthetic_spec(std::string_view text) {
  constexpr double kMaxCorrelation = 0.999;
  KeyValues items = KeyValues::after_name("trace", text);
  SyntheticSpec spec;
  spec.model = items.find("model").value_or("");
  spec.elements = take_elements(items, "elements", 0, 1, kMaxSpecElements);
  spec.distribution = parse_distribution(items);
  if (spec.is_fit()) {
    spec.trace = items.find("trace").value_or("");
    if (!spec.trace.empty()) spec.trace = std::filesystem::absolute(spec.trace).string();
  } else {
    parse_family(items, spec);
  }
  spec.workers = items.number<std::uint64_t>("workers", spec.workers, 1, 65'536);
  spec.steps = items.number<std::uint64_t>("steps", spec.steps, 1, 1'000'000);
  spec.rho_step = items.number("rho_step", 0, 0, kMaxCorrelation);
  spec.rho_worker = items.number("rho_worker", 0, 0, kMaxCorrelation);
  spec.seed = items.number<std::uint64_t>("seed", spec.seed, 0, UINT64_MAX);
  items.finish();
  check_together(items, spec);
  return spec;
}

namespace {

// The trace.

// Incremented when the same text produces other values.
constexpr const char* kGenerator = "synthetic-3:";
// Maximum number of a trace's values that a distribution is fitted to.
constexpr std::size_t kMaxValues = std::size_t{1} << 20;
// Pseudo-rank of the random numbers that all ranks share.
constexpr int kEverybody = -1;

// Stochastic quantisers hash the same names, ranks and steps; the salt gives them other numbers.
std::uint64_t salted(std::uint64_t seed) {
  return SplitMix64::mix(seed ^ hash_name("synthetic gradients"));
}

/// A distribution with the tables that draw it; tensors may share one.
struct DrawnDistribution {
  /// @param rho_step, rho_worker  correlations of the values
  DrawnDistribution(const ValueDistribution& distribution, double rho_step, double rho_worker) {
    if (rho_step == 0 && rho_worker == 0) {
      quantiles = std::make_unique<QuantileTable>(distribution);
      return;
    }
    copula = std::make_unique<CopulaTable>(distribution);
    const CopulaCorrelation correlation(*copula);
    normal_rho_step = correlation.of_normals(rho_step);
    normal_rho_worker = correlation.of_normals(rho_worker);
  }

  std::unique_ptr<const QuantileTable> quantiles;     ///< of independent values
  std::unique_ptr<const CopulaTable> copula;          ///< of correlated values
  double normal_rho_step = 0, normal_rho_worker = 0;  ///< of the normal numbers behind the values
};

class SyntheticSource final : public GradientSource {
 public:
  struct Tensor {
    std::string name;
    std::size_t elements = 0;
    std::shared_ptr<const DrawnDistribution> distribution;
    float scale = 1;
  };

  /// @param times  by rank, then step; ranks and steps beyond the last start again at the first
  SyntheticSource(std::vector<Tensor> tensors, std::size_t ranks, std::size_t steps,
                  std::uint64_t seed, std::vector<std::vector<TraceStepTimes>> times)
      : tensors_(std::move(tensors)),
        ranks_(ranks),
        steps_(steps),
        seed_(salted(seed)),
        times_(std::move(times)),
        slots_(ranks) {}

  std::span<const float> gradient(std::size_t rank, std::size_t step, std::size_t tensor) override {
    if (step >= steps_) throw std::out_of_range("synthetic trace: step");
    const Tensor& drawn = tensors_.at(tensor);
    Slot* slot = nullptr;
    {
      const std::lock_guard lock(mutex_);
      auto& of_rank = slots_.at(rank);
      if (of_rank.empty()) of_rank.resize(tensors_.size());
      if (!of_rank[tensor]) of_rank[tensor] = std::make_unique<Slot>();
      slot = of_rank[tensor].get();
    }
    const std::lock_guard lock(slot->mutex);
    if (!slot->filled || slot->step != step) fill(drawn, rank, step, *slot);
    return slot->values.first(drawn.elements);
  }
  const TraceStepTimes& times(std::size_t rank, std::size_t step) const override {
    if (rank >= ranks_ || step >= steps_) throw std::out_of_range("synthetic trace: rank or step");
    const auto& of_rank = times_[rank % times_.size()];
    return of_rank[step % of_rank.size()];
  }
  void release(std::size_t rank) override {
    const std::lock_guard lock(mutex_);
    slots_.at(rank).clear();
  }

 private:
  /// Buffers for one tensor of one rank: the gradient values of one step and, if steps correlate,
  /// the latent normal numbers from which the values are calculated.
  struct Slot {
    std::mutex mutex;
    Buffer<float> values;
    Buffer<std::int16_t> latents;
    std::size_t step = 0;
    bool filled = false;
  };

  void fill(const Tensor& tensor, std::size_t rank, std::size_t step, Slot& slot) const;

  std::vector<Tensor> tensors_;
  std::size_t ranks_, steps_;
  std::uint64_t seed_;
  std::vector<std::vector<TraceStepTimes>> times_;
  std::mutex mutex_;  ///< of slots_
  std::vector<std::vector<std::unique_ptr<Slot>>>
      slots_;  ///< by rank, tensor; empty until requested
};

void SyntheticSource::fill(const Tensor& tensor, std::size_t rank, std::size_t step,
                           Slot& slot) const {
  const std::size_t n = tensor.elements;
  const DrawnDistribution& distribution = *tensor.distribution;
  if (slot.values.size() == 0) slot.values = Buffer<float>(n);
  const std::uint64_t own = random_stream(seed_, static_cast<int>(rank), tensor.name);
  if (distribution.quantiles) {
    draw_values(*distribution.quantiles, tensor.scale, random_key(own, step), slot.values.first(n));
  } else {
    const std::uint64_t common = random_stream(seed_, kEverybody, tensor.name);
    const double keep = distribution.normal_rho_step, shared = distribution.normal_rho_worker;
    // Without correlation of steps, a latent is not needed after its value has been made.
    if (keep > 0 && slot.latents.size() == 0) slot.latents = Buffer<std::int16_t>(latent_count(n));
    const std::span<std::int16_t> latents = slot.latents.first(keep > 0 ? latent_count(n) : 0);
    std::size_t from = step;
    if (keep > 0) from = slot.filled && slot.step < step ? slot.step + 1 : 0;
    for (std::size_t at = from; at <= step; ++at) {
      // Every step is normal with the same variance; step 0 has no previous step.
      const LatentStep next(own, common, at, at == 0 ? 0 : keep, shared);
      if (at < step) {
        step_latents(next, latents);
      } else {
        step_values(next, *distribution.copula, tensor.scale, latents, slot.values.first(n));
      }
    }
  }
  slot.step = step;
  slot.filled = true;
}

bool is_vector(const TraceTensor& tensor) { return tensor.shape.size() <= 1; }

std::vector<std::size_t> of_kind(const std::vector<TraceTensor>& tensors, bool vectors) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (is_vector(tensors[i]) == vectors) found.push_back(i);
  }
  return found;
}

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

/// Returns, for every tensor, the index of the captured tensor whose distribution it gets.
std::vector<std::size_t> drawn_like(const SyntheticSpec& spec,
                                    const std::vector<TraceTensor>& tensors,
                                    const std::vector<TraceTensor>& captured) {
  if (spec.elements == 0) return match_tensors(tensors, captured);
  const auto largest = std::ranges::max_element(captured, {}, &TraceTensor::elements);
  return {static_cast<std::size_t>(largest - captured.begin())};
}

/// Returns the distribution of one tensor's values over all ranks and steps of a trace: its
/// empirical quantiles and its fraction of zeros. Takes at most 2^20 evenly spaced values.
ValueDistribution fit_tensor(const Trace& trace, std::size_t tensor) {
  const std::size_t elements = trace.tensors().at(tensor).elements;
  const std::size_t all = trace.ranks() * trace.steps() * elements;
  const std::size_t distance = std::max<std::size_t>(1, (all + kMaxValues - 1) / kMaxValues);
  std::vector<float> sample;
  sample.reserve(all / distance + 1);
  std::size_t at = 0;  // index in the next rank and step
  for (std::size_t step = 0; step < trace.steps(); ++step) {
    for (std::size_t rank = 0; rank < trace.ranks(); ++rank) {
      const auto values = trace.gradient(rank, step, tensor);
      for (; at < values.size(); at += distance) sample.push_back(values[at]);
      at -= values.size();
    }
  }
  return make_empirical(std::move(sample));
}

}  // namespace

std::vector<std::size_t> match_tensors(const std::vector<TraceTensor>& model,
                                       const std::vector<TraceTensor>& captured) {
  std::vector<std::size_t> matched(model.size());
  for (const bool vectors : {false, true}) {
    const std::vector<std::size_t> wanted = of_kind(model, vectors);
    std::vector<std::size_t> offered = of_kind(captured, vectors);
    if (offered.empty()) offered = of_kind(captured, !vectors);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::size_t last = std::max<std::size_t>(wanted.size() - 1, 1);
      // Rounding maps the first to the first and the last to the last.
      matched[wanted[i]] = offered[(2 * i * (offered.size() - 1) + last) / (2 * last)];
    }
  }
  return matched;
}

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
  nlohmann::json metadata = {{"origin", "synthetic"}, {"spec", trace.text}};

  std::vector<std::vector<TraceStepTimes>> times;
  if (!spec.model.empty()) {
    const ModelInfo& model = find_model(spec.model);
    trace.model = model.name;
    trace.tensors = model_tensors(model);
    times = {{model_times(model)}};
    metadata["provenance"] = {{"times", model.times[0].source}};
    if (model.times[0].kind == ModelTimes::Kind::kEstimated)
      metadata["provenance"]["device"] = model.times[0].device;
    else
      metadata["provenance"]["cpu"] = model.times[0].device;
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
  trace.metadata = std::make_shared<const nlohmann::json>(std::move(metadata));
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
