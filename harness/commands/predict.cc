// `thinpipe predict`: predicts the points of a sweep from models instead of measurements.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

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
#include "harness/commands/shared_options.h"
#include "harness/commands/sweep_options.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/machine/machine.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "harness/plan/checks.h"
#include "harness/predict/basis.h"
#include "harness/predict/codec_profile.h"
#include "harness/predict/output.h"
#include "harness/predict/predictor.h"
#include "reports/record/reader.h"
#include "workloads/collectives/collectives.h"

namespace thinpipe {
namespace {

void print_note(const std::string& line) { print_message(for_stream(STDERR_FILENO, line)); }

// Returns the points in the order of the axes. `run` uses a random order against machine drift.
std::vector<SweepPoint> ordered_points(const SweepOptions& options) {
  std::vector<SweepPoint> points;
  for (const int ranks : options.ranks)
    for (const LinkSpec& link : options.links)
      for (const ScheduleSpec& schedule : options.schedules)
        for (const Stragglers& stragglers : options.stragglers)
          for (const double time_scale : options.time_scales)
            for (const Spec& collective : options.collectives)
              for (const Bucketing& bucketing : options.bucketings)
                for (const CompressorRules& compressor : options.compressors)
                  if (serves_all(collective, compressor)) {
                    check_point_limit(points.size());
                    points.push_back({compressor, link, ranks, 0, schedule,
                                      time_scale == kAutoTimeScale ? 1 : time_scale, false,
                                      collective, bucketing, stragglers});
                  }
  return points;
}

// Returns "records of out/records.jsonl, AMD EPYC 7B13", with the machine of the last launch.
std::string recorded_origin(const Records& records, const std::string& device) {
  std::string text = "records of " + records.file.string();
  if (device != kDeviceCpu) return text + ", on a GPU";
  const std::string cpu =
      records.headers.empty() ? "" : records.headers.back().fingerprint.text("cpu");
  if (!cpu.empty()) text += ", " + cpu;
  return text;
}

// Prints a note if the ranks computed on the CPUs that compress. No model has this contention.
void note_compute_work(const Records& records) {
  const auto works = [](const Header& one) { return one.settings.text("compute") == "work"; };
  if (std::ranges::any_of(records.headers, works))
    print_note(fmt::format(
        "{}: the run used CPU time as compute (--compute work); predictions assume that ranks wait "
        "instead, so they leave out contention for the CPUs",
        records.file.string()));
}

class SweepPredictor {
 public:
  SweepPredictor(const Arguments& arguments, SweepOptions& options, const Trace& trace)
      : options_(options), predictor_(trace, options), machines_(arguments) {
    origin_.compute = compute_origin(trace, options.compute_scale);
    origin_.codecs = measured_origin(options.threads);
    if (arguments.given("codec-times"))
      use_recorded_codecs(read_run_records(arguments.text("codec-times")),
                          arguments.given("compressor"), options, trace);
    if (options.device == kDeviceCpu && options.compute_scale > 0)
      origin_.device = compute_device(trace);
    for (const SweepPoint& point : ordered_points(options)) {
      prepare_codec(point);
      for (const CompressorRules& baseline : options.baselines)
        prepare_codec(with_baseline(point, baseline));
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

  // Returns a break-even rate for every compressor and number of ranks in each setting.
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
      const PredictedMachines cluster = machines_.of(point.ranks);
      PredictedCrossing one{point, predictor_.break_even(point, cluster, baselines), {}, {}};
      if (baselines.size() > 1)
        one.over_none = predictor_.break_even(point, cluster, {kUncompressed});
      if (origin_.device)
        one.at_memory_pace = predictor_.break_even(point, cluster, baselines, CodecTimes::kMemory);
      found.push_back(std::move(one));
    }
    return found;
  }

 private:
  // Takes codec times from records: those of the compressors that the user named, else of all that
  // the records have. Removes baselines that the records lack.
  void use_recorded_codecs(const Records& records, bool named, SweepOptions& options,
                           const Trace& trace) {
    if (options.bucketings.size() > 1 || !options.bucketings.front().is_default())
      throw InputError(
          "--codec-times: records have no codec times per bucket; expected --granularity tensor "
          "and --overlap none");
    for (const Spec& collective : options.collectives) {
      const CollectiveInfo& info = find_collective(collective.name);
      if (info.can(Exchange::kPushPull) || info.can(Exchange::kSparseAllReduce))
        throw InputError(fmt::format(
            "--codec-times: records have no codec times of servers or of sparse sums (collective "
            "{}); expected collectives that all-reduce or all-gather whole payloads, such as ring",
            collective.to_string()));
    }
    note_compute_work(records);
    origin_.codecs = recorded_origin(records, options.device);
    for (const CompressorRules& baseline : std::vector(options.baselines)) {
      if (has_codec(records, baseline, options.device)) continue;
      print_note(fmt::format("{} has no points of {}, so there is no comparison with it",
                             records.file.string(), baseline.to_string()));
      std::erase(options.baselines, baseline);
      std::erase(options.compressors, baseline);
    }
    if (!named) use_recorded_compressors(records, options);
    std::vector<CompressorRules> compressors = options.compressors;
    compressors.insert(compressors.end(), options.baselines.begin(), options.baselines.end());
    for (const CompressorRules& compressor : compressors)
      predictor_.know(compressor, {}, {.name = "ring", .values = {}},
                      recorded_codec(records, trace, compressor, options.device));
  }

  // Replaces the default compressors, but not the baselines.
  static void use_recorded_compressors(const Records& records, SweepOptions& options) {
    std::erase_if(options.compressors, [&](const auto& one) { return !options.is_baseline(one); });
    std::vector<std::string> names;
    for (const CompressorRules& one : recorded_compressors(records, options.device))
      if (!options.is_baseline(one)) {
        options.compressors.push_back(one);
        names.push_back(one.to_string());
      }
    if (names.empty())
      throw InputError(fmt::format(
          "{}: no codec times of a compressor{}; expected points of `thinpipe run` without overlap "
          "and without parameter servers",
          records.file.string(),
          options.device == kDeviceCpu ? "" : " with --device " + options.device));
    print_note(fmt::format("without --compressor, the compressors of {} are predicted: {}",
                           records.file.string(), fmt::join(names, " ")));
  }

  void prepare_codec(const SweepPoint& point) {
    if (predictor_.refusal(point).empty())
      predictor_.codec(point.compressor, point.bucketing, point.collective);
  }

  std::optional<PredictedStep> step_of(const SweepPoint& point, CodecTimes times) {
    const PredictedMachines cluster = machines_.of(point.ranks);
    const auto own = predictor_.predict(point, cluster, times);
    if (!own) return std::nullopt;
    PredictedStep step{.prediction = *own, .bf16 = {}, .none = {}};
    for (const CompressorRules& baseline : options_.baselines)
      if (const auto other = predictor_.predict(with_baseline(point, baseline), cluster, times))
        (baseline == kUncompressed ? step.none : step.bf16) = other->step;
    return step;
  }

  const SweepOptions& options_;
  Predictor predictor_;
  PredictedOrigin origin_;
  MachineModel machines_;
};

int run_again(const Arguments& arguments) {
  const Records records = read_records(arguments.text("records"));
  if (records.points.empty())
    throw InputError(records.file.string() +
                     ": no points yet; `thinpipe run --resume` measures those that are missing");
  note_compute_work(records);
  const std::vector<PredictedAgain> points = predict_again(records);
  arguments.flag("json") ? write_json(again_json(points)) : write_text(again_table(points));
  return kExitGood;
}

int run_predict(const Arguments& arguments, SweepOptions options, const Trace& trace) {
  const double begin = now_seconds();
  SweepPredictor sweep(arguments, options, trace);
  const double known = now_seconds();
  const std::vector<PredictedPoint> points = sweep.points();
  const double predicted = now_seconds();
  const std::vector<PredictedCrossing> crossings = sweep.crossings(points);
  print_note(fmt::format("codecs in {}, {} points in {} ({:.0f} a second)",
                         format_time(known - begin), points.size(), format_time(predicted - known),
                         static_cast<double>(points.size()) / (predicted - known)));
  if (arguments.flag("json")) {
    write_json(predictions_json(points, crossings, sweep.origin(), sweep.predictor(), options));
  } else {
    std::string text = prediction_table(points, sweep.predictor(), options.topology);
    for (const std::string& more :
         {crossing_table(crossings, options.topology), prediction_sentences(points),
          std::ranges::any_of(points, [](const auto& one) { return one.step.has_value(); })
              ? origin_text(sweep.origin())
              : ""})
      if (!more.empty()) text += "\n" + more;
    write_text(text);
  }
  return kExitGood;
}

Action prepare_predict(const Arguments& arguments) {
  if (arguments.given("records")) return [&] { return run_again(arguments); };
  if (!arguments.given("trace"))
    throw InputError("expected --trace DIR, or --records RUN to predict the points of that run");
  SweepOptions options = sweep_options_of(arguments, std::nullopt, kMaxPredictedRanks);
  options.trace = arguments.text("trace");
  options.warmup = static_cast<std::uint64_t>(arguments.integer("warmup"));
  options.device = arguments.text("device");
  if (options.device != kDeviceCpu && !arguments.given("codec-times"))
    throw InputError(
        "--device " + options.device +
        ": GPU codec times need a measurement; expected --codec-times RUN, with points of a run on "
        "a GPU");
  check_schedules(options);
  check_collectives(options);
  check_trace_suffices(options);
  for (const CompressorRules& rules : options.compressors)
    for (const Spec& spec : rules.specs()) check_spec(spec);
  check_time_scales(options);
  given_message_time(arguments);  // throws for a wrong one before anything is measured
  const auto trace = std::make_shared<const Trace>(open_trace(options.trace));
  warn_of_rules(options.compressors, *trace);
  return [&arguments, options, trace] { return run_predict(arguments, options, *trace); };
}

std::vector<OptionInfo> predicting_options() {
  return {
      file_option("codec-times", "RUN", "",
                  "use codec times and payload sizes from a run's records (its folder, or "
                  "records.jsonl) instead of measuring them"),
      choice_option("device", "NAME", kDeviceCpu, {kDeviceCpu, kDeviceCuda},
                    "device whose points of --codec-times are used; with cuda, every rank is "
                    "assumed to have such a GPU"),
      file_option("records", "RUN", "",
                  "predict the points of a run (its folder, or records.jsonl) from its recorded "
                  "codec times and links, and print predicted and measured times; other options "
                  "except --json have no effect"),
  };
}

}  // namespace

Verb predict_verb() {
  return {
      .name = "predict",
      .summary = "Predict the results of `thinpipe run` from models",
      .description =
          "Predicts a sweep of `thinpipe run` from models. No ranks are started and no links are "
          "throttled, so links may be faster, and ranks more numerous (up to 1024), than a machine "
          "can emulate. "
          "A step consists of the captured compute time, the codec time and the exchange. "
          "Each message costs a fixed time, plus its bytes over the TCP goodput, less the bytes "
          "that pass at once from the links' token buckets (docs/predict.md).\n\n"
          "Codec times and payload sizes are measured on the trace, for about half a second per "
          "compressor; --codec-times takes them from a run's records. Every rank is assumed to "
          "have a machine like this one, unless --cores sets the number of cores that all ranks "
          "share.\n\n"
          "The output ends with the break-even rate of every compressor. On slower links, the "
          "compressor's predicted step is shorter than the steps of the baselines: `none` (fp32) "
          "and `bf16`, which sums in 16 bits (--baseline).",
      .options = joined({{sweep_trace_option()},
                         sweep_axis_options(),
                         sweep_step_options(),
                         sweep_replay_options(),
                         sweep_value_options(),
                         predicting_options(),
                         machine_model_options(),
                         {{.name = "json", .help = "print JSON for programs"}}}),
      .examples =
          {
              {.purpose = "Three compressors on a larger cluster",
               .command =
                   "thinpipe predict --trace synthetic:model=resnet50 --ranks '16|256' --link "
                   "'rate=1gbit|25gbit,delay=50us' -c 'topk:ratio=0.01|0.001' -c 3lc"},
              {.purpose = "Prediction of `thinpipe run` on this machine with two cores",
               .command = "thinpipe predict --trace trace --cores 2 -c topk"},
              {.purpose = "Other links and more ranks, with measured codec times",
               .command = "thinpipe predict --trace trace --codec-times out --ranks 64 --link "
                          "rate=10gbit"},
          },
      .groups = sweep_groups(),
      .prepare = prepare_predict,
  };
}

}  // namespace thinpipe
