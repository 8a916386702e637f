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

// Returns the mean of each `period` consecutive values, leaving out NaN.
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

// Returns the rank that waited least for other ranks within its exchange. All ranks leave an
// exchange at about the same time, so this is the rank that entered it last. Where exchanges
// overlap compute, it is the rank with the shortest exchange.
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
    case OverRanks::kMinWaiting:
      return field.of(least_waiting(ranks, overlapped));
    case OverRanks::kMax: {
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

// Returns the bytes that the busiest link carries in one direction.
double busiest_link(const StepAnswers& step) {
  std::size_t bytes = 0;
  for (const WorkerStep& worker : step.workers)
    bytes = std::max({bytes, worker.payload_bytes, worker.pulled_bytes});
  for (const ServerStep& server : step.servers)
    bytes = std::max({bytes, server.push_bytes, step.workers.size() * server.pull_bytes});
  return static_cast<double>(bytes);
}

// Returns the lateness in s that at least 5 % of the waits reach or exceed, without interpolation.
// Of 20 waits, this is the greatest lateness.
double lateness_p95(const PointSamples& samples) {
  std::vector<double> late;
  for (const StepAnswers& step : samples.steps)
    for (const WorkerStep& rank : step.workers) late.push_back(rank.late);
  std::sort(late.begin(), late.end());
  return late.empty() ? 0 : late[late.size() * 95 / 100];
}

struct MedianStep {
  std::size_t step;
  double seconds;  ///< wall-clock time of its slowest rank
};

/// Needs at least one measured step.
MedianStep median_step(const PointSamples& samples) {
  std::vector<std::pair<double, std::size_t>> totals;
  for (std::size_t step = 0; step < samples.steps.size(); ++step)
    totals.emplace_back(slowest(samples.steps[step].workers).total, step);
  const auto middle = totals.begin() + static_cast<std::ptrdiff_t>(totals.size() / 2);
  std::nth_element(totals.begin(), middle, totals.end());
  return {middle->second, middle->first};
}

// Returns the lateness in s that 5 % of the waits may reach.
double late_limit(const PointSamples& samples) {
  if (samples.steps.empty()) return kLateSeconds;
  return std::max(kLateSeconds, kLateShare * median_step(samples).seconds);
}

// A step that only accumulates gradients has no error and no k-hat.
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
  // In a two-shot collective the second compression, of the means, has an error too.
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
  // In a two-shot collective, every rank first sends the payloads of all slices except its own.
  // Then it sends its answer to all other ranks.
  const double answered = sum_over(ranks, &WorkerStep::pulled_bytes) / n;
  const double bytes = !step.servers.empty() ? busiest_link(step)
                       : answered > 0        ? (n - 1) / n * (gathered / n + answered)
                                      : 2 * (n - 1) / n * (all_summed / n) + (n - 1) / n * gathered;
  if (bytes == 0 && seconds == 0) return std::numeric_limits<double>::quiet_NaN();  // accumulated
  return seconds > 0 ? bytes * 8 / seconds : 0;
}

json validation_of(const PointSamples& samples) {
  json validation = {{"aggregate_max_error", samples.worst_error},
                     {"checked_steps", samples.checked_steps},
                     {"identical_ranks", samples.identical_ranks},
                     {"reference", samples.reference}};
  if (samples.sum_error) {
    validation["sum_error"] = *samples.sum_error;
    validation["sum_error_of_bound"] = samples.sum_error_of_bound;
  }
  return validation;
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

// Checks of the bytes that the links counted against the bytes that the ranks sent.

namespace {

// Bytes of the header before each message in Open MPI 4.1 over TCP (match + BTL).
constexpr double kMessageHeader = 22;

std::size_t ranks_of(const PointSamples& samples) {
  if (samples.steps.empty()) return 0;
  return samples.steps[0].workers.size() + samples.steps[0].servers.size();
}

// Sums the counters of one rank over all steps. @param rank  servers come after the workers
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

// Workers that send to one server at the same time meet at its switch port, and programs of the
// user (samples without steps) may do so too. Frames beyond the port's queue are dropped, and TCP
// sends them again.
double dropped_bytes(const PointSamples& samples) {
  if (!samples.steps.empty() && samples.steps[0].servers.empty()) return 0;
  return static_cast<double>(samples.wire.drops) * samples.frame_bytes;
}

// A lossy link delivers fewer frames than were sent; the lost ones are sent again.
void warn_of_switches(const PointSamples& samples, std::vector<std::string>& warnings) {
  for (const ThroughSwitch& one : samples.wire.switches) {
    const double in = static_cast<double>(one.in), out = static_cast<double>(one.out);
    if (std::fabs(in - out) > kWireTolerance * in + 10 * kSlackBytes + dropped_bytes(samples))
      warnings.push_back(
          fmt::format("the {} received {} but forwarded {} ({} frames dropped): bytes bypassed a "
                      "link, were lost or were sent twice",
                      one.name, format_bytes(in), format_bytes(out), samples.wire.drops));
  }
  for (const WireCount::Detour& one : samples.wire.detours) {
    const double in = static_cast<double>(one.in), out = static_cast<double>(one.out);
    if (one.drops == 0 && in - out > kWireTolerance * in + 10 * kSlackBytes)
      warnings.push_back(
          fmt::format("{} sent {}, but only {} passed its shaper at the switch: the other bytes "
                      "were not throttled",
                      one.name, format_bytes(in), format_bytes(out)));
  }
}

// The sum over many ranks hides one rank whose messages bypass its link, so each rank is checked.
void warn_of_ranks(const PointSamples& samples, std::vector<std::string>& warnings) {
  for (std::size_t rank = 0; rank < std::min(ranks_of(samples), samples.wire.sent_by.size());
       ++rank) {
    const double least =
        message_bytes(sent_by(samples, rank)) * samples.frame_bytes / samples.payload_bytes;
    const double sent = static_cast<double>(samples.wire.sent_by[rank]);
    if (sent < least * (1 - kWireTolerance))
      warnings.push_back(fmt::format(
          "the link of rank {} counted {}, but its messages need at least {}: bytes bypassed it",
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
  // Headers of a frame: Ethernet, IP, and TCP with timestamps.
  const double header = samples.frame_bytes - samples.payload_bytes;
  // Workers count frames at MTU 1500.
  const double frames =
      sent_frames * std::max(1.0, static_cast<double>(kPayloadBytes) / samples.payload_bytes);
  const double steps = static_cast<double>(samples.steps.size());
  return {
      bytes * samples.frame_bytes / samples.payload_bytes,
      bytes + 2 * header * frames + kSlackBytes * steps * static_cast<double>(ranks_of(samples))};
}

std::vector<std::string> wire_warnings(const PointSamples& samples) {
  std::vector<std::string> warnings;
  if (samples.wire.restarted)
    return {"a link's counters restarted during the steps: another program replaced its qdisc"};
  const double sent = static_cast<double>(samples.wire.sent);
  const WireBounds bounds = wire_bounds(samples);
  if (bounds.least > 0 &&
      (sent < bounds.least * (1 - kWireTolerance) ||
       (samples.lossless && sent > bounds.most * (1 + kWireTolerance) + dropped_bytes(samples))))
    warnings.push_back(
        fmt::format("the links counted {}, but the messages need {} to {} ({} frames dropped): "
                    "bytes bypassed the links or were sent twice",
                    format_bytes(sent), format_bytes(bounds.least), format_bytes(bounds.most),
                    samples.wire.drops));
  if (warnings.empty()) warn_of_ranks(samples, warnings);
  if (samples.lossless) warn_of_switches(samples, warnings);
  return warnings;
}

std::string late_warning(double late, double limit) {
  if (late <= limit) return "";
  return fmt::format(
      "5 % of timed waits overran by {} or more (limit {}), so the machine was too busy to keep "
      "time. Stop other programs, or use fewer ranks",
      format_time(late), format_time(limit));
}

std::vector<std::string> warnings_about(const PointSamples& samples) {
  std::vector<std::string> warnings;
  if (const auto ratio = samples.goodput_ratio;
      ratio && !(std::fabs(*ratio - 1) <= kGoodputTolerance))
    warnings.push_back(
        fmt::format("{} delivered {:.1f} % of its TCP ceiling in the calibration (limit {:.0f} % "
                    "to {:.0f} %), so the link does not have the rate that was set. Check it with "
                    "`thinpipe net verify`",
                    samples.goodput_of, 100 * *ratio, 100 * (1 - kGoodputTolerance),
                    100 * (1 + kGoodputTolerance)));
  if (samples.idle_cpu && *samples.idle_cpu < kMinIdle && !samples.compute_works)
    warnings.push_back(
        fmt::format("CPU idle time was {:.1f} % (limit {:g} %), so the host rather than the link "
                    "may have set the pace. Use fewer ranks{}",
                    100 * *samples.idle_cpu, 100 * kMinIdle,
                    samples.steps.empty() ? "" : ", or `--time-scale auto`"));
  if (std::string late = late_warning(lateness_p95(samples), late_limit(samples)); !late.empty())
    warnings.push_back(std::move(late));
  if (samples.time_scale != 1)
    for (std::string& warning : scale_warnings(samples.steps, samples.time_scale))
      warnings.push_back(std::move(warning));
  if (samples.wire.counted)
    for (std::string& warning : wire_warnings(samples)) warnings.push_back(std::move(warning));
  return warnings;
}

std::vector<std::string> errors_of(const PointSamples& samples) {
  std::vector<std::string> errors;
  if (!(samples.worst_error <= kErrorTolerance))
    errors.push_back(fmt::format(
        "the aggregate differs from the reference by {:.2g} of its largest element (limit {:g})",
        samples.worst_error, kErrorTolerance));
  if (!(samples.sum_error_of_bound <= 1))
    errors.push_back(
        fmt::format("a 16-bit sum is {:.2g} times as far from the mean as rounding allows",
                    samples.sum_error_of_bound));
  if (!samples.identical_ranks) errors.push_back("ranks ended a step with different aggregates");
  if (!samples.servers_heard)
    errors.push_back("a worker ended a step with a different delta than its server had sent");
  return errors;
}

}  // namespace thinpipe
