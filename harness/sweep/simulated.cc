#include "harness/sweep/simulated.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/statistics.h"
#include "base/units.h"
#include "harness/machine/fingerprint.h"
#include "harness/machine/programs.h"
#include "harness/options/terminal.h"
#include "harness/plan/checks.h"
#include "harness/predict/network_model.h"
#include "harness/sweep/measure.h"
#include "harness/sweep/samples.h"
#include "netem/file_descriptor.h"
#include "netem/sandbox.h"
#include "workloads/collectives/push_pull_options.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// With more ranks, the times of all ranks in all steps would be most of a record.
constexpr int kMaxRanksListed = 64;

SimulatedExchange exchange_of(const ProfiledExchange& profiled, double dimension, double slower) {
  SimulatedExchange one{.operation = profiled.exchange,
                        .bytes = profiled.bytes,
                        .k = profiled.k,
                        .dimension = dimension,
                        .copies = profiled.copies};
  for (const ProfiledUnit& unit : profiled.units)
    one.units.push_back({.elements = unit.elements,
                         .push = unit.push,
                         .pull = unit.pull,
                         .decode = slower * unit.decode,
                         .compress = slower * unit.compress});
  return one;
}

// @param slower  factor on codec times
SimulatedBucket bucket_of(const ProfiledBucket& bucket, const ComputeTimes& times,
                          const Trace& trace, int ranks, double slower) {
  SimulatedBucket one{.ready = ready_time(bucket, times),
                      .compress = slower * bucket.compress,
                      .decode = slower * (bucket.decode + ranks * bucket.decode_message)};
  double dimension = 0;
  for (const std::size_t tensor : bucket.tensors)
    dimension += static_cast<double>(trace.tensors().at(tensor).elements);
  for (const ProfiledExchange& exchange : bucket.exchanges)
    one.exchanges.push_back(exchange_of(exchange, dimension, slower));
  return one;
}

// Returns the file, at its begin, which has this text and no name.
FileDescriptor unnamed_file(const std::string& text) {
  FileDescriptor file(memfd_create("job", MFD_CLOEXEC));
  if (!file.valid()) throw SystemError("make a file in memory");
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t more = ::write(file.get(), text.data() + written, text.size() - written);
    if (more < 0) throw SystemError("write a file in memory");
    written += static_cast<std::size_t>(more);
  }
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

// @throws RunError with the program's message
SimulationAnswer simulate(const SimulationJob& job) {
  const FileDescriptor input = unnamed_file(job_json(job).dump());
  const ProgramOutput output =
      read_program(find_program(kSimulateProgram), {}, STDERR_FILENO, input.get());
  const json answer = json::parse(output.text, nullptr, /*allow_exceptions=*/false);
  if (const std::string error = text_in(answer, "error"); !error.empty()) throw RunError(error);
  if (output.status != 0 || !answer.is_object())
    throw RunError(
        fmt::format("{} ended without a result (status {})", kSimulateProgram, output.status));
  return parse_answer(answer);
}

// A method that exchanges in every p-th step only: the mean of its p steps, of which the others
// compute and accumulate.
void spread_over_period(const CodecProfile& codec, WorkerStep& step) {
  const double period = codec.period, others = period - 1;
  step.total = (step.total + others * (step.compute + codec.hold)) / period;
  step.compress = (step.compress + others * codec.hold) / period;
  step.exchange /= period;
  step.decode /= period;
  step.exposed /= period;
  step.link_idle = step.total - step.exchange;
}

std::size_t summed_bytes(const CodecProfile& codec, int ranks) {
  double bytes = 0;
  for (const ProfiledBucket& bucket : codec.buckets)
    for (const ProfiledExchange& one : bucket.exchanges)
      if (one.exchange == Exchange::kAllReduce) bytes += one.mean(ranks);
  return static_cast<std::size_t>(bytes);
}

std::vector<ProfiledUnit> units_of(const CodecProfile& codec) {
  std::vector<ProfiledUnit> units;
  for (const ProfiledBucket& bucket : codec.buckets)
    for (const ProfiledExchange& one : bucket.exchanges)
      units.insert(units.end(), one.units.begin(), one.units.end());
  return units;
}

// Returns the bytes that each parameter server receives and sends to one worker.
std::vector<ServerStep> server_steps(const std::vector<ProfiledUnit>& units,
                                     const SweepPoint& point) {
  std::vector<ServerStep> servers(static_cast<std::size_t>(point.servers()));
  if (servers.empty()) return servers;
  std::vector<std::size_t> elements;
  for (const ProfiledUnit& unit : units)
    elements.push_back(static_cast<std::size_t>(unit.elements));
  const std::vector<int> server_of = partition_units(
      elements, point.servers(), push_pull_options(point.collective, point.ranks).partition);
  for (std::size_t i = 0; i < units.size(); ++i) {
    ServerStep& server = servers.at(static_cast<std::size_t>(server_of[i]));
    server.push_bytes += static_cast<std::size_t>(units[i].push * point.ranks);
    server.pull_bytes += static_cast<std::size_t>(units[i].pull);
  }
  return servers;
}

std::string outcome(const SweepPoint& planned, const Point& point) {
  std::string line = fmt::format("{:<7} {} x {} on {}", status_name(point.status), planned.ranks,
                                 planned.compressor.to_string(), link_line(planned.link));
  if (planned.collective.name != "ring") line += " by " + planned.collective.to_string();
  if (const std::vector<double> times = point.samples("step_time"_metric); !times.empty())
    line += fmt::format(": {} a step", format_time(median(times)));
  for (const std::string& reason : point.reasons) line += "; " + reason;
  return line;
}

}  // namespace

SimulationJob simulation_job(const SweepPoint& point, const SweepOptions& options,
                             const Trace& trace, Predictor& predictor, double message_time,
                             std::vector<std::size_t>& step_of) {
  const CodecProfile& codec = predictor.codec(point.compressor, point.bucketing, point.collective);
  const ComputeTimes& times = predictor.times(point);
  SimulationJob job{.topology = options.topology.to_string(),
                    .link = point.link.to_string(),
                    .message_time = message_time * crowding(point.ranks, 1, options.cores),
                    .work = {.ranks = point.ranks,
                             .collective = point.collective,
                             .kind = pipeline_kind(point.bucketing),
                             .compute = times.compute}};
  const double slower = crowding(point.ranks, options.threads, options.cores);
  for (const ProfiledBucket& bucket : codec.buckets)
    job.work.buckets.push_back(bucket_of(bucket, times, trace, point.ranks, slower));
  std::map<std::vector<double>, std::size_t> known;
  step_of.clear();
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    std::vector<double> compute = compute_of_ranks(trace, options, point, options.warmup + step);
    const auto [at, is_new] = known.try_emplace(std::move(compute), known.size());
    if (is_new) job.work.steps.push_back(at->first);
    step_of.push_back(at->second);
  }
  return job;
}

Point simulated_point(const SweepPoint& planned, const SweepOptions& options, const Trace& trace,
                      const CodecProfile& codec, const SimulationAnswer& answer,
                      const std::vector<std::size_t>& step_of) {
  PointSamples samples;
  samples.overlapped = planned.bucketing.overlap != Overlap::kNone;
  const std::vector<ProfiledUnit> units = units_of(codec);
  const double pulled =
      std::accumulate(units.begin(), units.end(), 0.0,
                      [](double sum, const ProfiledUnit& unit) { return sum + unit.pull; });
  double messages = 0;
  for (const std::size_t index : step_of) {
    StepAnswers& step = samples.steps.emplace_back();
    step.servers = server_steps(units, planned);
    for (const SimulatedRankStep& rank : answer.steps.at(index)) {
      WorkerStep& worker = step.workers.emplace_back();
      worker.total = rank.total;
      worker.compute = worker.wanted = rank.compute;
      worker.compress = worker.compress_cpu = rank.compress;
      worker.exchange = rank.exchange;
      worker.decode = rank.decode;
      worker.exposed = rank.exposed;
      worker.link_idle = rank.link_idle;
      worker.payload_bytes = static_cast<std::size_t>(codec.payload_bytes);
      worker.summed_bytes = summed_bytes(codec, planned.ranks);
      worker.pulled_bytes = static_cast<std::size_t>(pulled);
      spread_over_period(codec, worker);
      messages += rank.sent_messages / static_cast<double>(step_of.size());
    }
  }
  Point point = describe(planned, options);
  point.metrics = metrics_of(samples, 4 * trace.elements());
  // No payload was decoded, and there is no error to report.
  point.metrics.erase("relative_error"_metric);
  json details = {{"simulation",
                   {{"simgrid", answer.version},
                    {"messages", messages},
                    {"seconds", answer.seconds},
                    {"codec", codec.source}}}};
  if (planned.ranks <= kMaxRanksListed) details["per_rank"] = per_rank(samples.steps);
  point.details = Document(std::move(details));
  return point;
}

int simulate_points(const SweepOptions& options, const Trace& trace,
                    const std::vector<SweepPoint>& points, RecordWriter& writer) {
  Header header = launch_header({.kind = kRunKind,
                                 .command = options.command,
                                 .seed = options.seed,
                                 .threads = options.threads},
                                &trace);
  header.settings = Document(settings_of(options));
  writer.append(header);
  Predictor predictor(trace, options);
  Progress progress(static_cast<double>(points.size()));
  const double message_time =
      options.message_time ? *options.message_time : loopback_message_time();
  int failed = 0;
  for (const SweepPoint& planned : points) {
    if (stop_requested()) break;
    Point point;
    try {
      const std::string name = fmt::format("{} x {} on {}", planned.ranks,
                                           planned.compressor.to_string(), link_line(planned.link));
      progress.describe("timing the codec of " + name);
      std::vector<std::size_t> step_of;
      const SimulationJob job =
          simulation_job(planned, options, trace, predictor, message_time, step_of);
      progress.describe("simulating " + name);
      const SimulationAnswer answer = simulate(job);
      point = simulated_point(
          planned, options, trace,
          predictor.codec(planned.compressor, planned.bucketing, planned.collective), answer,
          step_of);
    } catch (const std::runtime_error& error) {
      point = failed_point(planned, options, error.what());
    }
    if (stop_requested()) break;
    writer.append(point);
    failed += point.status == Status::kFailed ? 1 : 0;
    progress.note(outcome(planned, point));
    progress.advance(1);
  }
  if (stop_requested()) {
    progress.note("interrupted; all points simulated so far are recorded, and --resume continues");
    return 128 + stop_signal();
  }
  return failed > 0 ? kExitFailed : kExitGood;
}

}  // namespace thinpipe
