#include "harness/sweep/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/machine_load.h"
#include "base/units.h"
#include "harness/launch/thresholds.h"
#include "harness/sweep/time_scaling.h"
#include "netem/link/link_spec.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// Means over every so many values, without those that are NaN.
std::vector<double> over_periods(const std::vector<double>& values, std::size_t period) {
  if (period == 1) return values;
  std::vector<double> means;
  for (std::size_t first = 0; first < values.size(); first += period) {
    double sum = 0, count = 0;
    for (std::size_t i = first; i < std::min(values.size(), first + period); ++i) {
      if (std::isnan(values[i])) continue;
      sum += values[i];
      ++count;
    }
    means.push_back(sum / count);
  }
  return means;
}

std::vector<double> per_step(const PointSamples& samples,
                             const std::function<double(const StepAnswers&)>& value) {
  std::vector<double> values;
  for (const StepAnswers& step : samples.steps) values.push_back(value(step));
  return over_periods(values, samples.period);
}

const WorkerStep& slowest(const std::vector<WorkerStep>& ranks) {
  return *std::max_element(ranks.begin(), ranks.end(),
                           [](const auto& a, const auto& b) { return a.total < b.total; });
}

// The rank whose exchange times hold least waiting for others. All leave the exchange at about the
// same time: that is the one which entered it last. Where exchanges run under the rest of the step,
// it is the one that exchanged for the shortest time.
const WorkerStep& least_waiting(const std::vector<WorkerStep>& ranks, bool overlapped) {
  if (overlapped)
    return *std::min_element(ranks.begin(), ranks.end(),
                             [](const auto& a, const auto& b) { return a.exchange < b.exchange; });
  return *std::max_element(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) {
    return a.compute + a.compress < b.compute + b.compress;
  });
}

double sum_over(const std::vector<WorkerStep>& ranks, std::size_t WorkerStep::*member) {
  double sum = 0;
  for (const WorkerStep& rank : ranks) sum += static_cast<double>(rank.*member);
  return sum;
}

double over_ranks(const StepField& field, const std::vector<WorkerStep>& ranks, bool overlapped) {
  switch (field.over) {
    case OverRanks::kSlowest:
      return field.of(slowest(ranks));
    case OverRanks::kLeastWaiting:
      return field.of(least_waiting(ranks, overlapped));
    case OverRanks::kGreatest: {
      double most = 0;
      for (const WorkerStep& rank : ranks) most = std::max(most, field.of(rank));
      return most;
    }
    case OverRanks::kMean:
      break;
  }
  double sum = 0;
  for (const WorkerStep& rank : ranks) sum += field.of(rank);
  return sum / static_cast<double>(ranks.size());
}

bool is_there(const StepField& field, const PointSamples& samples) {
  if (field.metric == nullptr) return false;
  if (field.there == StepField::There::kOnDevice) return samples.on_device;
  if (field.there == StepField::There::kAlways) return true;
  for (const StepAnswers& step : samples.steps)
    for (const WorkerStep& rank : step.workers)
      if (field.of(rank) > 0) return true;
  return false;
}

// Bytes that it carries one way.
double busiest_link(const StepAnswers& step) {
  std::size_t bytes = 0;
  for (const WorkerStep& worker : step.workers)
    bytes = std::max({bytes, worker.payload_bytes, worker.pulled_bytes});
  for (const ServerStep& server : step.servers)
    bytes = std::max({bytes, server.push_bytes, step.workers.size() * server.pull_bytes});
  return static_cast<double>(bytes);
}

// Lateness that 5 % of the waits, one of 20 among them, reach or exceed; not interpolated.
double lateness_p95(const PointSamples& samples) {
  std::vector<double> late;
  for (const StepAnswers& step : samples.steps)
    for (const WorkerStep& rank : step.workers) late.push_back(rank.late);
  std::sort(late.begin(), late.end());
  return late.empty() ? 0 : late[late.size() * 95 / 100];
}

struct MedianStep {
  std::size_t step;
  double seconds;  ///< of wall-clock time, of its slowest rank
};

/// At least one step was measured.
MedianStep median_step(const PointSamples& samples) {
  std::vector<std::pair<double, std::size_t>> totals;
  for (std::size_t step = 0; step < samples.steps.size(); ++step)
    totals.emplace_back(slowest(samples.steps[step].workers).total, step);
  const auto middle = totals.begin() + static_cast<std::ptrdiff_t>(totals.size() / 2);
  std::nth_element(totals.begin(), middle, totals.end());
  return {middle->second, middle->first};
}

// A step that is held back has no error and no k-hat.
template <typename Value>
std::vector<double> per_exchange(const PointSamples& samples, const Value& value) {
  return per_step(samples, [&](const StepAnswers& step) {
    return step.workers[0].exchanged ? value(step.workers)
                                     : std::numeric_limits<double>::quiet_NaN();
  });
}

void put_quality(const PointSamples& samples, Metrics& metrics) {
  const auto mean_error = [&](auto error) {
    return per_exchange(samples, [error](const std::vector<WorkerStep>& ranks) {
      double sum = 0;
      for (const WorkerStep& rank : ranks) sum += error(rank);
      return sum / static_cast<double>(ranks.size());
    });
  };
  put(metrics, "relative_error"_metric,
      mean_error([](const WorkerStep& rank) { return rank.relative_error; }));
  // In two shots the means lose something too.
  if (samples.steps[0].workers[0].second_relative_error)
    put(metrics, "second_relative_error"_metric,
        mean_error([](const WorkerStep& rank) { return rank.second_relative_error.value(); }));
  double target = 0;
  for (const StepAnswers& step : samples.steps)
    target += sum_over(step.workers, &WorkerStep::target);
  if (target > 0)
    put(metrics, "quality"_metric, per_exchange(samples, [](const std::vector<WorkerStep>& ranks) {
          const double wanted = sum_over(ranks, &WorkerStep::target);
          return wanted > 0 ? sum_over(ranks, &WorkerStep::selected) / wanted : 0;
        }));
}

}  // namespace

double bus_bandwidth(const StepAnswers& step, bool overlapped) {
  const std::vector<WorkerStep>& ranks = step.workers;
  const double seconds = least_waiting(ranks, overlapped).exchange;
  const double n = static_cast<double>(ranks.size());
  // Every rank's array in an all-reduce, all ranks' messages in an all-gather.
  const double all_summed = sum_over(ranks, &WorkerStep::summed_bytes);
  const double gathered = sum_over(ranks, &WorkerStep::payload_bytes) - all_summed;
  // In two shots every rank sends all payloads but that of its own slice, then its answer to all
  // others.
  const double answered = sum_over(ranks, &WorkerStep::pulled_bytes) / n;
  const double bytes = !step.servers.empty() ? busiest_link(step)
                       : answered > 0        ? (n - 1) / n * (gathered / n + answered)
                                      : 2 * (n - 1) / n * (all_summed / n) + (n - 1) / n * gathered;
  if (bytes == 0 && seconds == 0) return std::numeric_limits<double>::quiet_NaN();  // held back
  return seconds > 0 ? bytes * 8 / seconds : 0;
}

json validation_of(const PointSamples& samples) {
  json said = {{"aggregate_max_error", samples.worst_error},
               {"checked_steps", samples.checked_steps},
               {"identical_ranks", samples.identical_ranks},
               {"reference", samples.reference}};
  if (samples.sum_error) {
    said["sum_error"] = *samples.sum_error;
    said["sum_error_of_bound"] = samples.sum_error_of_bound;
  }
  return said;
}

Metrics metrics_of(const PointSamples& samples, std::size_t dense_bytes) {
  Metrics metrics;
  for (const StepField& field : step_fields())
    if (is_there(field, samples))
      put(metrics, *field.metric, per_step(samples, [&](const StepAnswers& step) {
            return over_ranks(field, step.workers, samples.overlapped);
          }));
  put_quality(samples, metrics);
  put(metrics, "bus_bandwidth"_metric, per_step(samples, [&](const StepAnswers& step) {
        return bus_bandwidth(step, samples.overlapped);
      }));
  put(metrics, "dense_bytes"_metric,
      std::vector<double>(samples.steps.size() / samples.period, static_cast<double>(dense_bytes)));
  if (!samples.without_exchange.empty()) put(metrics, "noop_time"_metric, samples.without_exchange);
  if (!samples.wire.counted) return metrics;
  const double host_steps = static_cast<double>(samples.steps.size()) *
                            static_cast<double>(samples.steps.at(0).workers.size());
  put(metrics, "wire_bytes"_metric, {static_cast<double>(samples.wire.sent) / host_steps});
  return metrics;
}

json per_server(const PointSamples& samples) {
  json servers = json::array();
  for (std::size_t server = 0; server < samples.steps.at(0).servers.size(); ++server) {
    json columns;
    for (const StepAnswers& step : samples.steps) {
      const ServerStep& one = step.servers[server];
      columns["decode"].push_back(one.decode);
      columns["compress"].push_back(one.compress);
      columns["push_bytes"].push_back(one.push_bytes);
      columns["pull_bytes"].push_back(one.pull_bytes);
      columns["relative_error"].push_back(one.relative_error);
    }
    servers.push_back(std::move(columns));
  }
  return servers;
}

void put_timeline(const PointSamples& samples, bool one_clock, Point& point) {
  point.timeline_step = median_step(samples).step;
  const std::vector<WorkerStep>& ranks = samples.steps[point.timeline_step].workers;
  double first = ranks[0].begun;
  for (const WorkerStep& rank : ranks) first = std::min(first, rank.begun);
  // To 0.1 us: finer than any clock, and half the text.
  const auto rounded = [](double seconds) { return std::round(seconds * 1e7) / 1e7; };
  for (const WorkerStep& rank : ranks) {
    const double shift = one_clock ? (rank.begun - first) / samples.time_scale : 0;
    RankTimeline& own = point.timeline.emplace_back();
    for (const PhaseSpan& span : rank.timeline)
      own.push_back({to_string(span.phase), static_cast<std::int64_t>(span.bucket),
                     rounded(span.begin / samples.time_scale + shift),
                     rounded(span.end / samples.time_scale + shift)});
  }
}

// Do the bytes that the links counted add up to what the ranks sent?

namespace {

// A header of 22 bytes goes before each message in Open MPI 4.1 over TCP (match + BTL).
constexpr double kMessageHeader = 22;

std::size_t ranks_of(const PointSamples& samples) {
  if (samples.steps.empty()) return 0;
  return samples.steps[0].workers.size() + samples.steps[0].servers.size();
}

// In all steps. @param rank  of a worker, or after them of a server
TransportCounters sent_by(const PointSamples& samples, std::size_t rank) {
  TransportCounters sum;
  for (const StepAnswers& step : samples.steps) {
    const std::size_t workers = step.workers.size();
    const RankStep& one = rank < workers ? static_cast<const RankStep&>(step.workers[rank])
                                         : step.servers.at(rank - workers);
    sum.messages += one.sent.messages;
    sum.bytes += one.sent.bytes;
    sum.frames += one.sent.frames;
  }
  return sum;
}

double message_bytes(const TransportCounters& sent) {
  return static_cast<double>(sent.bytes) + kMessageHeader * static_cast<double>(sent.messages);
}

// Workers that send to one server at a time meet at its switch port, which drops what its queue
// does not hold: TCP sends it again.
double dropped_bytes(const PointSamples& samples) {
  if (samples.steps.empty() || samples.steps[0].servers.empty()) return 0;
  return static_cast<double>(samples.wire.drops) * samples.frame_bytes;
}

// A lossy link delivers fewer frames than were sent; the lost ones are sent again.
void doubt_switches(const PointSamples& samples, std::vector<std::string>& doubts) {
  for (const ThroughSwitch& one : samples.wire.switches) {
    const double in = static_cast<double>(one.in), out = static_cast<double>(one.out);
    if (std::fabs(in - out) > kWireTolerance * in + 10 * kSlackBytes + dropped_bytes(samples))
      doubts.push_back(fmt::format("{} came into the {} but {} left it; {} frames were dropped",
                                   format_bytes(in), one.name, format_bytes(out),
                                   samples.wire.drops));
  }
  for (const WireCount::Detour& one : samples.wire.detours) {
    const double in = static_cast<double>(one.in), out = static_cast<double>(one.out);
    if (one.drops == 0 && in - out > kWireTolerance * in + 10 * kSlackBytes)
      doubts.push_back(fmt::format("{} sent {}, of which {} passed its shaper at the switch",
                                   one.name, format_bytes(in), format_bytes(out)));
  }
}

// One rank whose messages take another way is lost in the sum over many.
void doubt_ranks(const PointSamples& samples, std::vector<std::string>& doubts) {
  for (std::size_t rank = 0; rank < std::min(ranks_of(samples), samples.wire.sent_by.size());
       ++rank) {
    const double least =
        message_bytes(sent_by(samples, rank)) * samples.frame_bytes / samples.payload_bytes;
    const double sent = static_cast<double>(samples.wire.sent_by[rank]);
    if (sent < least * (1 - kWireTolerance))
      doubts.push_back(fmt::format(
          "the link of rank {} counted {} for messages that take {} at least: bytes went astray",
          rank, format_bytes(sent), format_bytes(least)));
  }
}

}  // namespace

WireBounds wire_bounds(const PointSamples& samples) {
  double bytes = 0, sent_frames = 0;
  for (std::size_t rank = 0; rank < ranks_of(samples); ++rank) {
    const TransportCounters sent = sent_by(samples, rank);
    bytes += message_bytes(sent);
    sent_frames += static_cast<double>(sent.frames);
  }
  // Ethernet, IP and TCP headers with timestamps: a frame's bytes that are not payload.
  const double header = samples.frame_bytes - samples.payload_bytes;
  // Workers count frames at MTU 1500.
  const double frames =
      sent_frames * std::max(1.0, static_cast<double>(kPayloadBytes) / samples.payload_bytes);
  const double steps = static_cast<double>(samples.steps.size());
  return {
      bytes * samples.frame_bytes / samples.payload_bytes,
      bytes + 2 * header * frames + kSlackBytes * steps * static_cast<double>(ranks_of(samples))};
}

std::vector<std::string> wire_doubts(const PointSamples& samples) {
  std::vector<std::string> doubts;
  if (samples.wire.restarted)
    return {"a link's counters began anew meanwhile: somebody replaced its qdisc"};
  const double sent = static_cast<double>(samples.wire.sent);
  const WireBounds bounds = wire_bounds(samples);
  if (bounds.least > 0 &&
      (sent < bounds.least * (1 - kWireTolerance) ||
       (samples.lossless && sent > bounds.most * (1 + kWireTolerance) + dropped_bytes(samples))))
    doubts.push_back(
        fmt::format("the links counted {} for messages that take {} to {}: bytes went astray or "
                    "were sent twice ({} frames dropped)",
                    format_bytes(sent), format_bytes(bounds.least), format_bytes(bounds.most),
                    samples.wire.drops));
  if (doubts.empty()) doubt_ranks(samples, doubts);
  if (samples.lossless) doubt_switches(samples, doubts);
  return doubts;
}

std::vector<std::string> doubts_about(const PointSamples& samples) {
  std::vector<std::string> doubts;
  if (const auto ratio = samples.goodput_ratio;
      ratio && !(std::fabs(*ratio - 1) <= kGoodputTolerance))
    doubts.push_back(fmt::format("{} delivered {:.1f} % of its TCP ceiling in the calibration",
                                 samples.goodput_of, 100 * *ratio));
  if (samples.idle_cpu && *samples.idle_cpu < kLeastIdle)
    doubts.push_back(
        fmt::format("the processors were idle only {:.1f} % of the time: the emulation itself may "
                    "be what was slow",
                    100 * *samples.idle_cpu));
  if (const double late = lateness_p95(samples);
      late > kLateSeconds && late > kLateShare * median_step(samples).seconds)
    doubts.push_back(fmt::format("5 % of the waits ended {} late or later", format_time(late)));
  if (samples.time_scale != 1)
    for (std::string& doubt : scale_doubts(samples.steps, samples.time_scale))
      doubts.push_back(std::move(doubt));
  if (samples.wire.counted)
    for (std::string& doubt : wire_doubts(samples)) doubts.push_back(std::move(doubt));
  return doubts;
}

std::vector<std::string> faults_of(const PointSamples& samples) {
  std::vector<std::string> faults;
  if (!(samples.worst_error <= kErrorTolerance))
    faults.push_back(fmt::format(
        "the aggregate differs from the reference by {:.2g} of its largest element (allowed: {:g})",
        samples.worst_error, kErrorTolerance));
  if (!(samples.sum_error_of_bound <= 1))
    faults.push_back(
        fmt::format("a sum in 16 bits is {:.2g} times as far from the mean as rounding can put it",
                    samples.sum_error_of_bound));
  if (!samples.identical_ranks) faults.push_back("ranks ended a step with different aggregates");
  if (!samples.servers_heard)
    faults.push_back("a worker ended a step with another delta than a server had answered");
  return faults;
}

}  // namespace thinpipe
