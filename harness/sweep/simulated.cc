#include "harness/sweep/simulated.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/memory_file.h"
#include "base/statistics.h"
#include "base/units.h"
#include "harness/machine/fingerprint.h"
#include "harness/machine/programs.h"
#include "harness/options/terminal.h"
#include "harness/plan/checks.h"
#include "harness/predict/network_model.h"
#include "harness/sweep/measure.h"
#include "harness/sweep/samples.h"
#include "netem/sandbox.h"
#include "workloads/collectives/push_pull_options.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// With more ranks, the times of all ranks in all steps would be most of a record.
constexpr int kMaxRanksListed = 64;

// @param slower  factor on codec times
SimulatedBucket bucket_of(const ProfiledBucket& bucket, const ComputeTimes& times,
                          const Trace& trace, int ranks, double slower) {
  SimulatedBucket one{.ready = ready_time(bucket, times),
                      .compress = slower * bucket.compress,
                      .decode = slower * (bucket.decode + ranks * bucket.decode_message)};
  for (const std::size_t tensor : bucket.tensors)
    one.dimension += static_cast<double>(trace.tensors().at(tensor).elements);
  for (const ExchangeWork& exchange : bucket.exchanges)
    one.exchanges.push_back(exchange.slowed(slower));
  return one;
}

// @throws RunError with the program's message
SimulationAnswer simulate(const SimulationJob& job) {
  const MemoryFile input("simulation-job");
  input.write_and_rewind(job_json(job).dump());
  const ProgramOutput output =
      read_program(find_program(kSimulateProgram), {}, STDERR_FILENO, input.descriptor());
  const json answer = json::parse(output.text, nullptr, /*allow_exceptions=*/false);
  if (const std::string error = text_in(answer, "error"); !error.empty()) throw RunError(error);
  if (output.status != 0 || !answer.is_object())
    throw RunError(fmt::format("{} ended without a result ({})", kSimulateProgram,
                               WIFSIGNALED(output.status)
                                   ? fmt::format("signal {}", WTERMSIG(output.status))
                                   : fmt::format("exit code {}", WEXITSTATUS(output.status))));
  return parse_answer(answer);
}

// A method that exchanges in every p-th step only: the mean of its p steps, of which the others
// compute and accumulate. As predict() does, makes no period shorter than its bytes take on the
// links: where steps follow one another, token buckets refill at the links' rates.
// @param slower   factor on codec times
// @param carried  s for which the busiest link carries the period's bytes
void spread_over_period(const CodecProfile& codec, double slower, double carried,
                        WorkerStep& step) {
  const double period = codec.period, others = period - 1, hold = slower * codec.hold;
  const double worked = step.total + others * (step.compute + hold);
  const double refilling = std::max(0.0, carried - worked);
  step.total = (worked + refilling) / period;
  step.compress = (step.compress + others * hold) / period;
  step.exchange = (step.exchange + refilling) / period;
  step.decode /= period;
  step.exposed = (step.exposed + refilling) / period;
  step.link_idle = step.total - step.exchange;
  for (std::size_t* bytes : {&step.payload_bytes, &step.summed_bytes, &step.pulled_bytes})
    *bytes = static_cast<std::size_t>(static_cast<double>(*bytes) / period);
}

std::size_t summed_bytes(const CodecProfile& codec, int ranks) {
  double bytes = 0;
  for (const ProfiledBucket& bucket : codec.buckets)
    for (const ExchangeWork& one : bucket.exchanges)
      if (one.operation == Exchange::kAllReduce) bytes += one.mean(ranks);
  return static_cast<std::size_t>(bytes);
}

std::vector<UnitWork> units_of(const CodecProfile& codec) {
  std::vector<UnitWork> units;
  for (const ProfiledBucket& bucket : codec.buckets)
    for (const ExchangeWork& one : bucket.exchanges)
      units.insert(units.end(), one.units.begin(), one.units.end());
  return units;
}

// Returns the bytes that each parameter server receives and sends to one worker in a step: the mean
// over a period, of which one step exchanges.
std::vector<ServerStep> server_steps(const std::vector<UnitWork>& units, const SweepPoint& point,
                                     double period) {
  std::vector<ServerStep> servers(static_cast<std::size_t>(point.servers()));
  if (servers.empty()) return servers;
  std::vector<std::size_t> elements;
  for (const UnitWork& unit : units) elements.push_back(static_cast<std::size_t>(unit.elements));
  const std::vector<int> server_of = partition_units(
      elements, point.servers(), push_pull_options(point.collective, point.ranks).partition);
  for (std::size_t i = 0; i < units.size(); ++i) {
    ServerStep& server = servers.at(static_cast<std::size_t>(server_of[i]));
    server.push_bytes += static_cast<std::size_t>(units[i].push * point.ranks / period);
    server.pull_bytes += static_cast<std::size_t>(units[i].pull / period);
  }
  return servers;
}

// Returns per_rank() without the numbers of selected elements, which no simulated rank counts.
json times_of_ranks(const std::vector<StepAnswers>& steps) {
  json ranks = per_rank(steps);
  for (json& rank : ranks)
    for (const char* counted : {"target", "selected"}) rank.erase(counted);
  return ranks;
}

}  // namespace

SimulationJob simulation_job(const SweepPoint& point, const SweepOptions& options,
                             const Trace& trace, Predictor& predictor, double message_time,
                             std::vector<std::size_t>& step_of) {
  const CodecProfile& codec = predictor.codec(point.compressor, point.bucketing, point.collective);
  SweepPoint even = point;
  even.stragglers = {};
  const ComputeTimes& times = predictor.times(even);
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
  std::map<std::pair<std::vector<double>, std::vector<double>>, std::size_t> known;
  step_of.clear();
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    const std::uint64_t index = options.warmup + step;
    std::vector<double> stalls;
    for (int rank = 0; rank < point.ranks; ++rank)
      stalls.push_back(point.stragglers.compute(0, rank, index));
    const auto [at, is_new] = known.try_emplace(
        std::pair(compute_of_ranks(trace, options, point, index), std::move(stalls)), known.size());
    if (is_new) {
      job.work.steps.push_back(at->first.first);
      job.work.stalls.push_back(at->first.second);
    }
    step_of.push_back(at->second);
  }
  return job;
}

Point simulated_point(const SweepPoint& planned, const SweepOptions& options, const Trace& trace,
                      const CodecProfile& codec, double message_time,
                      const SimulationAnswer& answer, const std::vector<std::size_t>& step_of) {
  const double slower = crowding(planned.ranks, options.threads, options.cores);
  PointSamples samples;
  samples.overlapped = planned.bucketing.overlap != Overlap::kNone;
  samples.wire.counted = false;
  const std::vector<UnitWork> units = units_of(codec);
  const double pulled =
      std::accumulate(units.begin(), units.end(), 0.0,
                      [](double sum, const UnitWork& unit) { return sum + unit.pull; });
  double messages = 0;
  for (const std::size_t index : step_of) {
    StepAnswers& step = samples.steps.emplace_back();
    step.servers = server_steps(units, planned, codec.period);
    for (const SimulatedRankStep& rank : answer.steps.at(index)) {
      WorkerStep& worker = step.workers.emplace_back();
      worker.total = rank.total;
      worker.compute = worker.wanted = rank.compute;
      worker.compress = rank.compress;
      worker.exchange = rank.exchange;
      worker.decode = rank.decode;
      worker.exposed = rank.exposed;
      worker.link_idle = rank.link_idle;
      worker.payload_bytes = static_cast<std::size_t>(codec.payload_bytes);
      worker.summed_bytes = summed_bytes(codec, planned.ranks);
      worker.pulled_bytes = static_cast<std::size_t>(pulled);
      spread_over_period(codec, slower, rank.carried, worker);
      worker.compress_cpu = worker.compress / slower;
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
                    {"message_time", message_time},
                    {"codec", codec.source}}}};
  if (planned.ranks <= kMaxRanksListed) details["per_rank"] = times_of_ranks(samples.steps);
  point.details = Document(std::move(details));
  return point;
}

int simulate_points(const SweepOptions& options, const Trace& trace,
                    const std::vector<SweepPoint>& points, RecordWriter& writer) {
  const double message_time =
      options.message_time ? *options.message_time : loopback_message_time();
  Header header = launch_header({.kind = kRunKind,
                                 .command = options.command,
                                 .seed = options.seed,
                                 .threads = options.threads},
                                &trace);
  header.settings = Document(settings_of(options));
  writer.append(header);
  Predictor predictor(trace, options);
  Progress progress(static_cast<double>(points.size()));
  int failed = 0;
  for (const SweepPoint& planned : points) {
    if (stop_requested()) break;
    const std::string started = created_now();
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
          predictor.codec(planned.compressor, planned.bucketing, planned.collective),
          job.message_time, answer, step_of);
    } catch (const std::exception& error) {
      point = failed_point(planned, options, error.what());
    }
    point.started = started;
    if (stop_requested()) break;
    writer.append(point);
    failed += point.status == Status::kFailed ? 1 : 0;
    progress.note(outcome_line(planned, point));
    progress.advance(1);
  }
  if (stop_requested()) {
    progress.note("interrupted; all points simulated so far are recorded, and --resume continues");
    return 128 + stop_signal();
  }
  return failed > 0 ? kExitFailed : kExitGood;
}

}  // namespace thinpipe
