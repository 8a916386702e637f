// `thinpipe predict`: what a sweep's points should take, from models instead of a measurement.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "base/visible.h"
#include "compressors/registry.h"
#include "harness/commands/sweep_options.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/machine/fingerprint.h"
#include "harness/machine/machine.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "harness/plan/checks.h"
#include "harness/predict/basis.h"
#include "harness/predict/codec_profile.h"
#include "harness/predict/network_model.h"
#include "harness/predict/output.h"
#include "harness/predict/predictor.h"
#include "reports/record/reader.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

constexpr int kMostPredictedRanks = 1024;
constexpr const char* kMeasured = "measured";

// In the order of the axes: run draws lots, so that drifts of a machine spread.
std::vector<SweepPoint> ordered_points(const SweepOptions& options) {
  std::vector<SweepPoint> points;
  for (const int ranks : options.ranks)
    for (const LinkSpec& link : options.links)
      for (const ScheduleSpec& schedule : options.schedules)
        for (const Stragglers& stragglers : options.stragglers)
          for (const double time_scale : options.time_scales)
            for (const Spec& pattern : options.patterns)
              for (const Feed& feed : options.feeds)
                for (const CompressorRules& compressor : options.compressors)
                  if (serves_all(pattern, compressor)) {
                    check_room_for_point(points.size());
                    points.push_back({compressor, link, ranks, 0, schedule,
                                      time_scale == kAutoTimeScale ? 1 : time_scale, false, pattern,
                                      feed, stragglers});
                  }
  return points;
}

// Where compute times come from, as far as the trace says.
std::string compute_origin(const Trace& trace, const SweepOptions& options) {
  if (options.compute_scale == 0) return "left out";
  const nlohmann::json provenance = trace.metadata().value("provenance", nlohmann::json::object());
  std::string where = "in the trace";
  for (const char* key : {"device", "cpu"})
    if (const auto found = provenance.find(key);
        found != provenance.end() && found->is_string() && where == "in the trace")
      where = found->get<std::string>();
  if (const auto source = provenance.find("times");
      source != provenance.end() && source->is_string())
    where += ", " + source->get<std::string>();
  return where +
         (options.compute_scale == 1 ? "" : fmt::format(", times {}", options.compute_scale));
}

// "records of out/records.jsonl, AMD EPYC 7B13": of the machine that ran last.
std::string recorded_origin(const Records& records, const std::string& device) {
  std::string text = "records of " + records.file.string();
  if (device != kDeviceCpu) return text + ", on a GPU";
  const std::string cpu =
      records.headers.empty() ? "" : records.headers.back().fingerprint.text("cpu");
  if (!cpu.empty()) text += ", " + cpu;
  return text;
}

std::string measured_origin(int threads) {
  const nlohmann::json machine = machine_description();
  return fmt::format("measured now on the trace's gradients, {} of {}",
                     threads == 1 ? "one core" : fmt::format("{} threads", threads),
                     machine.value("cpu", "this machine's processor"));
}

class Prophet {
 public:
  Prophet(const Arguments& arguments, SweepOptions& options, const Trace& trace)
      : options_(options), predictor_(trace, options), cores_(arguments.real("cores")) {
    const std::string& message = arguments.text("message-time");
    message_time_ = message == kMeasured ? loopback_message_time() : parse_time(message);
    origin_.compute = compute_origin(trace, options);
    origin_.codecs = measured_origin(options.threads);
    if (arguments.given("codec-times"))
      know_recorded(read_run_records(arguments.text("codec-times")), options, trace);
    if (options.device == kDeviceCpu && options.compute_scale > 0)
      origin_.device = compute_device(trace);
    for (const SweepPoint& point : ordered_points(options)) {
      know(point);
      for (const CompressorRules& baseline : options.baselines)
        know(with_baseline(point, baseline));
    }
  }

  const PredictedOrigin& origin() const { return origin_; }
  Predictor& predictor() { return predictor_; }

  std::vector<PredictedPoint> points() {
    std::vector<PredictedPoint> rows;
    for (SweepPoint& point : ordered_points(options_)) {
      PredictedPoint row{std::move(point), false, {}, {}};
      row.is_baseline = options_.is_baseline(row.point.compressor);
      row.step = step_of(row.point, CodecTimes::kTimed);
      if (origin_.device) row.at_memory_pace = step_of(row.point, CodecTimes::kMemory);
      rows.push_back(std::move(row));
    }
    return rows;
  }

  // One for every compressor and number of ranks in each setting.
  std::vector<PredictedCrossing> crossings(const std::vector<PredictedPoint>& rows) {
    const std::vector<CompressorRules>& baselines = options_.baselines;
    if (baselines.empty()) return {};
    std::vector<PredictedCrossing> found;
    std::set<std::string> done;
    for (const PredictedPoint& row : rows) {
      const SweepPoint& point = row.point;
      const std::string key = fmt::format("{}|{}|{}", point.compressor.to_string(), point.ranks,
                                          apart_from_rate(point, options_.topology));
      if (!row.step || row.is_baseline || point.time_scale != 1) continue;
      if (!done.insert(key).second) continue;
      const PredictedMachines there = machines(point.ranks);
      PredictedCrossing one{point, predictor_.break_even(point, there, baselines), {}, {}};
      if (baselines.size() > 1)
        one.over_none = predictor_.break_even(point, there, {kUncompressed});
      if (origin_.device)
        one.at_memory_pace = predictor_.break_even(point, there, baselines, CodecTimes::kMemory);
      found.push_back(std::move(one));
    }
    return found;
  }

 private:
  // A baseline that the records do not have is not compared with.
  void know_recorded(const Records& records, SweepOptions& options, const Trace& trace) {
    if (options.feeds.size() > 1 || !options.feeds.front().is_default())
      throw InputError(
          "--codec-times: records do not tell what each bucket took; expected gradients fed "
          "tensor by tensor, without overlap");
    origin_.codecs = recorded_origin(records, options.device);
    for (const CompressorRules& baseline : std::vector(options.baselines)) {
      if (has_codec(records, baseline, options.device)) continue;
      print_message(fmt::format("{} has no points of {}: nothing is compared with it",
                                records.file.string(), baseline.to_string()));
      std::erase(options.baselines, baseline);
      std::erase(options.compressors, baseline);
    }
    std::vector<CompressorRules> compressors = options.compressors;
    compressors.insert(compressors.end(), options.baselines.begin(), options.baselines.end());
    for (const CompressorRules& compressor : compressors)
      predictor_.know(compressor, {}, recorded_codec(records, trace, compressor, options.device));
  }

  void know(const SweepPoint& point) {
    if (predictor_.refusal(point).empty())
      predictor_.codec(point.compressor, point.feed, point.pattern);
  }

  std::optional<PredictedStep> step_of(const SweepPoint& point, CodecTimes times) {
    const PredictedMachines there = machines(point.ranks);
    const auto own = predictor_.predict(point, there, times);
    if (!own) return std::nullopt;
    PredictedStep step{.prediction = *own, .bf16 = {}, .none = {}};
    for (const CompressorRules& baseline : options_.baselines)
      if (const auto other = predictor_.predict(with_baseline(point, baseline), there, times))
        (baseline == kUncompressed ? step.none : step.bf16) = other->step;
    return step;
  }

  PredictedMachines machines(int ranks) const {
    const double crowd = cores_ > 0 ? std::max(1.0, ranks / cores_) : 1;
    return {.network = {.message_time = message_time_ * crowd, .slower = 1}, .cores = cores_};
  }

  const SweepOptions& options_;
  Predictor predictor_;
  PredictedOrigin origin_;
  double cores_;
  double message_time_ = 0;
};

int run_again(const Arguments& arguments) {
  const std::vector<PredictedAgain> points = predict_again(read_records(arguments.text("records")));
  arguments.flag("json") ? write_stdout(again_json(points).dump(2) + "\n")
                         : write_text(again_table(points));
  return kExitGood;
}

int run_predict(const Arguments& arguments, SweepOptions options, const Trace& trace) {
  const double begin = now_seconds();
  Prophet prophet(arguments, options, trace);
  const double known = now_seconds();
  const std::vector<PredictedPoint> points = prophet.points();
  const double predicted = now_seconds();
  const std::vector<PredictedCrossing> crossings = prophet.crossings(points);
  fmt::print(stderr, "codecs in {}, {} points in {} ({:.0f} a second)\n",
             format_time(known - begin), points.size(), format_time(predicted - known),
             static_cast<double>(points.size()) / (predicted - known));
  if (arguments.flag("json")) {
    write_stdout(predictions_json(points, crossings, prophet.origin(), prophet.predictor(), options)
                     .dump(2) +
                 "\n");
  } else {
    std::string text = prediction_table(points, prophet.predictor(), options.topology);
    for (const std::string& more :
         {crossing_table(crossings, options.topology), prediction_sentences(points),
          std::ranges::any_of(points, [](const auto& one) { return one.step.has_value(); })
              ? origin_text(prophet.origin())
              : ""})
      if (!more.empty()) text += "\n" + more;
    write_text(text);
  }
  return kExitGood;
}

Action prepare_predict(const Arguments& arguments) {
  if (arguments.given("records")) return [&] { return run_again(arguments); };
  if (!arguments.given("trace"))
    throw InputError("predict: expected --trace DIR, or --records RUN to predict its points again");
  SweepOptions options = sweep_options_of(arguments, std::nullopt, kMostPredictedRanks);
  options.trace = arguments.text("trace");
  options.warmup = static_cast<std::uint64_t>(arguments.integer("warmup"));
  options.device = arguments.text("device");
  if (options.device != kDeviceCpu && !arguments.given("codec-times"))
    throw InputError(
        "--device " + options.device +
        ": what compressors take on a GPU is measured by a run only; expected --codec-times RUN, "
        "with points that were measured on one");
  check_schedules(options);
  check_patterns(options);
  for (const CompressorRules& rules : options.compressors)
    for (const Spec& spec : rules.specs()) check_spec(spec);
  check_time_scales(options);
  if (arguments.text("message-time") != kMeasured) parse_time(arguments.text("message-time"));
  const auto trace = std::make_shared<const Trace>(open_trace(options.trace));
  return [&arguments, options, trace] { return run_predict(arguments, options, *trace); };
}

OptionInfo optional_trace() {
  OptionInfo option = sweep_trace_option();
  option.required = false;
  return option;
}

std::vector<OptionInfo> predicting_options() {
  return {
      {.name = "codec-times",
       .value_name = "RUN",
       .type = Type::kFile,
       .help = "take codec times and payload sizes from a run's records (its folder, or "
               "records.jsonl) instead of measuring them here"},
      {.name = "device",
       .value_name = "NAME",
       .type = Type::kChoice,
       .default_value = kDeviceCpu,
       .help =
           "of the records of --codec-times the points whose gradients lay there; every rank is "
           "taken to have a GPU like theirs",
       .choices = {kDeviceCpu, kDeviceCuda}},
      {.name = "records",
       .value_name = "RUN",
       .type = Type::kFile,
       .help = "predict the points of a run again, from what it recorded of codecs and links, and "
               "print them beside what was measured; other options but --json do not matter"},
      {.name = "message-time",
       .value_name = "T",
       .type = Type::kText,
       .default_value = kMeasured,
       .help = "what an empty message costs the machines, beside the link's delay, such as 20us; "
               "or measure it on this machine's loopback"},
      {.name = "cores",
       .value_name = "N",
       .type = Type::kReal,
       .default_value = "0",
       .help = "that all ranks share, as emulated hosts do; 0: each has a machine of its own",
       .minimum = 0,
       .maximum = 1e6},
      {.name = "json", .help = "print JSON for programs"},
  };
}

}  // namespace

Verb predict_verb() {
  return {
      .name = "predict",
      .summary = "Predict what `thinpipe run` would measure, from models",
      .description =
          "Answers the sweep that `thinpipe run` would measure, from models: no ranks are started "
          "and nothing is throttled, so links may be faster and ranks more (up to 1024) than a "
          "machine emulates. A step is the captured compute time, the codec, and the exchange: for "
          "each message a cost and its bytes over what TCP can deliver, less what the links' token "
          "buckets let through at once (docs/predict.md).\n\n"
          "What a codec takes and what it sends is measured here, on the trace, for about half a "
          "second a compressor; --codec-times takes it from a run's records. Every rank is taken "
          "to have a machine like this one for itself, unless --cores says how many all of them "
          "share.\n\n"
          "At the end stands for every compressor the link rate below which it pays: a step is "
          "predicted to be shorter than those of `none` and of `bf16`, summed in 16 bits "
          "(--baseline).",
      .options = joined({{optional_trace()},
                         sweep_axis_options(),
                         sweep_step_options(),
                         sweep_replay_options(),
                         sweep_value_options(),
                         predicting_options()}),
      .examples =
          {
              {.purpose = "Three compressors on a cluster that is not here",
               .command =
                   "thinpipe predict --trace synthetic:model=resnet50 --ranks '16|256' --link "
                   "'rate=1gbit|25gbit,delay=50us' -c 'topk:ratio=0.01|0.001' -c 3lc"},
              {.purpose = "What `thinpipe run` should measure on this machine of two cores",
               .command = "thinpipe predict --trace trace --cores 2 -c topk"},
              {.purpose =
                   "Other links and more ranks than were measured, with the codecs that were",
               .command = "thinpipe predict --trace trace --codec-times out --ranks 64 --link "
                          "rate=10gbit"},
          },
      .prepare = prepare_predict,
  };
}

}  // namespace thinpipe
