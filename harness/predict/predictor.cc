#include "harness/predict/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/statistics.h"
#include "harness/machine/machine.h"
#include "harness/predict/basis.h"
#include "harness/predict/codec_calibration.h"
#include "netem/topology/flows.h"
#include "netem/topology/time_scale.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/push_pull_options.h"
#include "workloads/replay/gradients.h"

namespace thinpipe {
namespace {

// Returns the medians over all steps of the slowest rank's compute time and of the last rank's
// ready times.
ComputeTimes times_of(const Trace& trace, const SweepOptions& options, const SweepPoint& point) {
  const Stragglers& stragglers = point.stragglers;
  const std::size_t tensors = trace.tensors().size();
  // A trace's steps repeat. Drawn stragglers differ in every step, of which the first kMaxDrawn
  // count.
  constexpr std::uint64_t kMaxDrawn = 1000;
  const std::uint64_t steps =
      std::min<std::uint64_t>(options.steps, stragglers.empty() ? trace.steps() : kMaxDrawn);
  ComputeTimes times;
  std::vector<double> computes;
  std::vector<std::vector<double>> readies(tensors);
  for (std::uint64_t step = 0; step < steps; ++step) {
    const std::uint64_t index = options.warmup + step;
    const std::vector<double> ranks = compute_of_ranks(trace, options, point, index);
    computes.push_back(*std::max_element(ranks.begin(), ranks.end()));
    std::vector<double> last(tensors, 0.0);
    for (int rank = 0; rank < point.ranks; ++rank) {
      const Replayed source = replayed(trace, rank, index);
      const TraceStepTimes& one = trace.times(source.rank, source.step);
      const double stall = stragglers.compute(0, rank, index);
      const double slower =
          one.compute() > 0 ? (ranks[static_cast<std::size_t>(rank)] - stall) / one.compute() : 0;
      for (std::size_t i = 0; i < tensors && i < one.ready.size(); ++i)
        last[i] = std::max(last[i], stall + (one.forward + one.ready[i]) * slower);
    }
    for (std::size_t i = 0; i < tensors; ++i) readies[i].push_back(last[i]);
  }
  for (const std::vector<double>& ready : readies) times.ready.push_back(median(ready));
  times.compute = median(computes);
  return times;
}

// Returns the key of a codec's profile, which collectives with the same operation share.
std::string codec_key(const CompressorRules& compressor, const Bucketing& bucketing,
                      const Spec& collective) {
  const CollectiveInfo& info = find_collective(collective.name);
  std::string way;
  if (info.can(Exchange::kSparseAllReduce)) way = "|sparse";
  if (info.can(Exchange::kPushPull)) {
    const PushPullOptions servers = push_pull_options(collective, 1);
    // Two shots push slices of a unit, and parameter servers take whole units.
    way = fmt::format("|{}|{}|{}", servers.colocated ? "slices" : "units",
                      servers.pull ? servers.pull->to_string() : "", servers.pull_memory);
  }
  return compressor.to_string() + "|" + bucketing.to_string() + way;
}

// Returns the payload bytes that the queue of a switch's port holds; 0 without a rate limit.
double queue_of(const LinkSpec& link) {
  const LinkSpec filled = link.with_defaults();
  if (filled.down.rate == 0) return 0;
  return static_cast<double>(filled.down.queue) * link.payload_bytes() / link.frame_bytes();
}

}  // namespace

std::vector<double> compute_of_ranks(const Trace& trace, const SweepOptions& options,
                                     const SweepPoint& point, std::uint64_t index) {
  std::vector<double> seconds;
  for (int rank = 0; rank < point.ranks; ++rank) {
    const Replayed source = replayed(trace, rank, index);
    seconds.push_back(point.stragglers.compute(
        trace.times(source.rank, source.step).compute() * options.compute_scale, rank, index));
  }
  return seconds;
}

PipelineKind pipeline_kind(const Bucketing& bucketing) {
  if (bucketing.overlap == Overlap::kNone) return PipelineKind::kSerial;
  return bucketing.codec_beside ? PipelineKind::kBeside : PipelineKind::kInline;
}

LinkSpec with_rate(const LinkSpec& link, double rate) {
  LinkSpec other = link;
  other.up.rate = link.up.rate / link.rate() * rate;
  other.down.rate = link.down.rate / link.rate() * rate;
  return other;
}

PredictedBreakEven predicted_break_even(const std::function<double(double)>& gain,
                                        const RateSearch& search) {
  const auto& [least, most, each_decade, precision] = search;
  PredictedBreakEven result;
  result.pays_at_least = gain(least) > 0;
  result.pays_at_most = gain(most) > 0;
  const int steps = static_cast<int>(std::ceil(each_decade * std::log10(most / least)));
  double above = most;
  bool pays_above = result.pays_at_most;
  for (int i = steps - 1; i >= 0; --i) {
    double below = least * std::pow(most / least, static_cast<double>(i) / steps);
    const bool pays_below = gain(below) > 0;
    if (pays_below && !pays_above) {
      while (above / below > 1 + precision) {
        const double middle = std::sqrt(above * below);
        (gain(middle) > 0 ? below : above) = middle;
      }
      result.rate = std::sqrt(above * below);
      return result;
    }
    above = below;
    pays_above = pays_below;
  }
  return result;
}

nlohmann::json break_even_json(const PredictedBreakEven& result) {
  nlohmann::json json = {
      {"rate", result.rate ? nlohmann::json(*result.rate) : nlohmann::json(nullptr)},
      {"pays_at_least_rate", result.pays_at_least},
      {"pays_at_most_rate", result.pays_at_most}};
  if (result.sends) json["reason"] = result.reason();
  return json;
}

std::string PredictedBreakEven::reason() const {
  if (!sends) return "";
  return fmt::format("it sends {:.3g} % of the uncompressed bytes", 100 * *sends);
}

void Predictor::know(const CompressorRules& compressor, const Bucketing& bucketing,
                     const Spec& collective, CodecProfile profile) {
  codecs_[codec_key(compressor, bucketing, collective)] = std::move(profile);
}

bool Predictor::knows(const SweepPoint& point) const {
  return codecs_.contains(codec_key(point.compressor, point.bucketing, point.collective));
}

const CodecProfile& Predictor::codec(const CompressorRules& compressor, const Bucketing& bucketing,
                                     const Spec& collective) {
  const std::string key = codec_key(compressor, bucketing, collective);
  const auto known = codecs_.find(key);
  if (known != codecs_.end()) return known->second;
  CodecCalibration calibration;
  calibration.bucketing = bucketing;
  calibration.collective = collective;
  // Payloads of ranks differ, so as many ranks as memory and time allow are measured.
  constexpr double kMaxElements = 32e6;
  constexpr int kMaxProfiled = 8;
  const double fit =
      kMaxElements / static_cast<double>(std::max<std::size_t>(1, trace_.elements()));
  const int most = *std::max_element(options_.ranks.begin(), options_.ranks.end());
  calibration.ranks = static_cast<int>(std::clamp(fit, 1.0, 1.0 * std::min(most, kMaxProfiled)));
  // Payloads change while the compressors' memories fill. So the calibration takes the same steps
  // that a run measures, up to a limit.
  constexpr std::uint64_t kMaxWarmup = 4;
  calibration.first_step =
      static_cast<int>(std::clamp<std::uint64_t>(options_.warmup, 1, kMaxWarmup));
  calibration.most_steps = static_cast<int>(std::clamp<std::uint64_t>(
      options_.steps, static_cast<std::uint64_t>(calibration.fewest_steps),
      static_cast<std::uint64_t>(calibration.most_steps)));
  calibration.at_once = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 2);
  return codecs_[key] = measure_codec(trace_, compressor, options_, calibration);
}

const ComputeTimes& Predictor::times(const SweepPoint& point) {
  const std::pair<int, std::string> key = {point.ranks, point.stragglers.to_string()};
  const auto known = times_.find(key);
  if (known != times_.end()) return known->second;
  return times_[key] = times_of(trace_, options_, point);
}

std::string Predictor::refusal(const SweepPoint& point) const {
  if (options_.device != kDeviceCpu && !knows(point))
    return "codec times on a GPU are not measured beforehand";
  if (point.collective.name == "openmpi")
    return "no model of openmpi, whose algorithms the library chooses";
  if (!has_model(point.collective)) return "no model of collective " + point.collective.name;
  const bool servers_own = point.collective.name == "ps" && options_.topology.kind == "ps";
  if (point.collective.name != "ring" && !options_.topology.is_star() && !servers_own)
    return "no model of " + point.collective.name + " on this topology";
  if (!point.stragglers.empty() && point.bucketing.overlap != Overlap::kNone)
    return "no model of stragglers with overlap";
  if (point.bucketing.takes_turns()) return "no model of fragments";
  if (!point.schedule.empty()) return "no model of links with a schedule";
  if (point.link.disturbs()) return "no model of lost or reordered frames";
  if (options_.topology.is_star()) return "";
  const Topology plan = options_.topology.plan(point.hosts(), point.link);
  if (disturbs(plan)) return "no model of lost or reordered frames";
  for (int rank = 1; point.servers() > 0 && rank < point.ranks; ++rank)
    if (plan.link(rank) != plan.link(0)) return "no model of workers with different links";
  return "";
}

double Predictor::highest_rate(const SweepPoint& point) const {
  for (double rate = kMaxRate; rate > kMinRate; rate /= 2) {
    try {
      options_.topology.plan(point.hosts(), with_rate(point.link, rate));
      return rate;
    } catch (const InputError&) {  // a link that is too fast
    }
  }
  return kMinRate;
}

LinkFigures Predictor::expected_links(const SweepPoint& point) const {
  if (options_.topology.is_star()) return star_figures(slowed(point.link, point.time_scale), {});
  const int hosts = point.hosts();
  return network_figures(slowed(options_.topology.plan(hosts, point.link), point.time_scale),
                         ring_flows(hosts), {});
}

PredictionInput Predictor::input_of(const SweepPoint& point, const PredictedMachines& machines) {
  PredictionInput input;
  input.ranks = point.ranks;
  input.collective = point.collective;
  if (point.servers() == 0) {
    input.link = ring_figures(options_.topology, point.link, point.ranks, machines.network);
    input.queue = queue_of(point.link);
  } else {
    const Topology planned = options_.topology.plan(point.hosts(), point.link);
    input.link = star_figures(planned.link(0), machines.network);
    input.queue = queue_of(planned.link(point.ranks));  // where the workers' payloads meet
    for (int rank = point.ranks; rank < point.hosts(); ++rank)
      input.servers.push_back(star_figures(planned.link(rank), machines.network));
  }
  input.times = times(point);
  input.kind = pipeline_kind(point.bucketing);
  input.threads = options_.threads;
  // With time dilation ranks do not compete for cores: docs/time-scaling.md.
  input.cores = point.time_scale == 1 && options_.device == kDeviceCpu ? machines.cores : 0;
  return input;
}

std::optional<Prediction> Predictor::predict(const SweepPoint& point,
                                             const PredictedMachines& machines, CodecTimes times) {
  if (!refusal(point).empty()) return std::nullopt;
  const CodecProfile& timed = codec(point.compressor, point.bucketing, point.collective);
  if (times == CodecTimes::kTimed) return predict(point, machines, timed);
  return predict(point, {.network = machines.network, .cores = 0},  // a device for each rank
                 at_memory_pace(timed, trace_, device_.value()));
}

std::optional<Prediction> Predictor::predict(const SweepPoint& point,
                                             const PredictedMachines& machines,
                                             const CodecProfile& profile) {
  if (!refusal(point).empty()) return std::nullopt;
  return thinpipe::predict(profile, input_of(point, machines), exchanges_);
}

nlohmann::json Predictor::basis(const SweepPoint& point, const PredictedMachines& machines) {
  return basis_json(codec(point.compressor, point.bucketing, point.collective),
                    input_of(point, machines));
}

PredictedBreakEven Predictor::break_even(const SweepPoint& point, const PredictedMachines& machines,
                                         const std::vector<CompressorRules>& baselines,
                                         CodecTimes times) {
  std::string key = fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}",
                                codec_key(point.compressor, point.bucketing, point.collective),
                                point.collective.to_string(), point.ranks, point.link.to_string(),
                                point.stragglers.to_string(), machines.network.message_time,
                                machines.network.slower, machines.cores, point.time_scale,
                                static_cast<int>(times));
  for (const CompressorRules& baseline : baselines) key += "|" + baseline.to_string();
  const auto known = break_evens_.find(key);
  if (known != break_evens_.end()) return known->second;
  const bool over_none =
      std::ranges::any_of(baselines, [](const auto& one) { return one == kUncompressed; });
  // A lossy collective sends fewer bytes than the payloads have.
  const bool lossy = find_collective(point.collective.name).lossy;
  if (over_none && !lossy && refusal(point).empty()) {
    const double sends = fraction_sent(point);
    if (sends * kWorthSaying > 1) return break_evens_[key] = {.sends = sends};
  }
  const auto step = [&](SweepPoint one, double rate) {
    one.link = with_rate(point.link, rate);
    const auto predicted = predict(one, machines, times);
    return predicted ? std::optional(predicted->step) : std::nullopt;
  };
  const auto gain = [&](double rate) {
    const auto own = step(point, rate);
    std::optional<double> without;
    for (const CompressorRules& baseline : baselines)
      if (const auto one = step(with_baseline(point, baseline), rate))
        without = std::min(*one, without.value_or(*one));
    return own && without ? *without - *own : 0;
  };
  return break_evens_[key] = predicted_break_even(gain, {.most = highest_rate(point)});
}

double Predictor::fraction_sent(const SweepPoint& point) {
  const auto a_step = [](const CodecProfile& one) { return one.payload_bytes / one.period; };
  const CodecProfile& own = codec(point.compressor, point.bucketing, point.collective);
  // With servers, a rank's payloads leave out the slice that it serves itself.
  const auto none = codecs_.find(codec_key(kUncompressed, point.bucketing, point.collective));
  return a_step(own) /
         (none != codecs_.end()
              ? a_step(none->second)
              : sizeof(float) * own.elements / static_cast<double>(point.bucketing.local_steps));
}

SweepPoint with_baseline(SweepPoint point, const CompressorRules& baseline) {
  if (!serves_all(point.collective, baseline) || find_collective(point.collective.name).lossy)
    point.collective = {.name = "ring", .values = {}};
  point.collective = with_plain_answers(std::move(point.collective));
  point.compressor = baseline;
  return point;
}

}  // namespace thinpipe
