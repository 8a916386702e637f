#include "harness/sweep/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "base/machine_load.h"
#include "base/units.h"
#include "harness/launch/thresholds.h"
#include "harness/sweep/time_scaling.h"
#include "netem/link/link_spec.h"
#include "reports/record/record.h"

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
                             const std::function<double(const std::vector<json>&)>& value) {
  std::vector<double> values;
  for (const std::vector<json>& ranks : samples.answers) values.push_back(value(ranks));
  return over_periods(values, samples.period);
}

const json& slowest(const std::vector<json>& ranks) {
  return *std::max_element(ranks.begin(), ranks.end(), [](const json& a, const json& b) {
    return a.at("total").get<double>() < b.at("total").get<double>();
  });
}

// The rank that entered the exchange last. All leave it at about the same time, so the others'
// exchange times hold their waiting for this one; its own holds the exchange alone.
const json& last_to_arrive(const std::vector<json>& ranks) {
  const auto arrival = [](const json& rank) {
    return rank.at("compute").get<double>() + rank.at("compress").get<double>();
  };
  return *std::max_element(ranks.begin(), ranks.end(),
                           [&](const json& a, const json& b) { return arrival(a) < arrival(b); });
}

// The rank whose exchange times hold least waiting for others. Where exchanges run under the rest
// of the step, that is the one that exchanged for the shortest time.
const json& typical(const std::vector<json>& ranks, bool overlapped) {
  if (!overlapped) return last_to_arrive(ranks);
  return *std::min_element(ranks.begin(), ranks.end(), [](const json& a, const json& b) {
    return a.at("exchange").get<double>() < b.at("exchange").get<double>();
  });
}

double sum_over(const std::vector<json>& ranks, const char* field) {
  double sum = 0;
  for (const json& rank : ranks) sum += rank.at(field).get<double>();
  return sum;
}

double total(const PointSamples& samples, const char* field) {
  double sum = 0;
  for (const std::vector<json>& ranks : samples.answers) sum += sum_over(ranks, field);
  return sum;
}

json metric(const char* unit, const char* better, const char* kind, std::vector<double> values) {
  return metric_json({unit, better, kind, std::move(values)});
}

// Bytes that it carries one way.
double busiest_link(const std::vector<json>& workers, const std::vector<json>& servers) {
  double bytes = 0;
  for (const json& worker : workers)
    for (const char* way : {"payload_bytes", "pulled_bytes"})
      bytes = std::max(bytes, worker.at(way).get<double>());
  for (const json& server : servers)
    bytes = std::max({bytes, server.at("push_bytes").get<double>(),
                      static_cast<double>(workers.size()) * server.at("pull_bytes").get<double>()});
  return bytes;
}

std::vector<double> bus_bandwidths(const PointSamples& samples) {
  std::vector<double> values;
  for (std::size_t step = 0; step < samples.answers.size(); ++step)
    values.push_back(
        bus_bandwidth(samples.answers[step], samples.overlapped,
                      samples.servers.empty() ? std::vector<json>() : samples.servers[step]));
  return over_periods(values, samples.period);
}

// What 5 % of the waits, one of 20 among them, reach or exceed: no quantile between two of them.
double lateness_p95(const PointSamples& samples) {
  std::vector<double> late;
  for (const std::vector<json>& ranks : samples.answers)
    for (const json& rank : ranks) late.push_back(rank.at("late"));
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
  for (std::size_t step = 0; step < samples.answers.size(); ++step)
    totals.emplace_back(slowest(samples.answers[step]).at("total").get<double>(), step);
  const auto middle = totals.begin() + static_cast<std::ptrdiff_t>(totals.size() / 2);
  std::nth_element(totals.begin(), middle, totals.end());
  return {middle->second, middle->first};
}

}  // namespace

double bus_bandwidth(const std::vector<json>& ranks, bool overlapped,
                     const std::vector<json>& servers) {
  const double seconds = typical(ranks, overlapped).at("exchange");
  const double n = static_cast<double>(ranks.size());
  // Every rank's array in an all-reduce, all ranks' messages in an all-gather.
  const double summed = sum_over(ranks, "summed_bytes") / n;
  const double gathered = sum_over(ranks, "payload_bytes") - sum_over(ranks, "summed_bytes");
  // In two shots every rank sends all payloads but that of its own slice, then its answer to all
  // others.
  const double answered = sum_over(ranks, "pulled_bytes") / n;
  const double bytes = !servers.empty() ? busiest_link(ranks, servers)
                       : answered > 0   ? (n - 1) / n * (gathered / n + answered)
                                        : 2 * (n - 1) / n * summed + (n - 1) / n * gathered;
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

json metrics_of(const PointSamples& samples, std::size_t dense_bytes) {
  json metrics;
  metrics["step_time"] = metric("s", "lower", "timed", per_step(samples, [](const auto& ranks) {
                                  return slowest(ranks).at("total").template get<double>();
                                }));
  const auto timed = [&](const char* name, const char* field) {
    metrics[name] =
        metric("s", "lower", "timed", per_step(samples, [&](const auto& ranks) {
                 return typical(ranks, samples.overlapped).at(field).template get<double>();
               }));
  };
  timed("compute_time", "compute");
  timed("compress_time", "compress");
  timed("compress_cpu_time", "compress_cpu");
  timed("exchange_time", "exchange");
  timed("decode_time", "decode");
  if (samples.on_device) {
    timed("copy_down_time", "copy_down");
    timed("copy_up_time", "copy_up");
  }
  // Of the rank that the step waited for.
  const auto of_slowest = [&](const char* name, const char* field) {
    metrics[name] = metric("s", "lower", "timed", per_step(samples, [&](const auto& ranks) {
                             return slowest(ranks).at(field).template get<double>();
                           }));
  };
  of_slowest("exposed_time", "exposed");
  of_slowest("link_idle_time", "link_idle");
  metrics["ideal_time"] =
      metric("s", "lower", "exact", per_step(samples, [](const auto& ranks) {
               double longest = 0;
               for (const json& rank : ranks)
                 longest = std::max(longest, rank.at("wanted").template get<double>());
               return longest;
             }));
  if (!samples.without_exchange.empty())
    metrics["noop_time"] = metric("s", "lower", "timed", samples.without_exchange);
  const auto mean = [&](const char* field) {
    return per_step(samples, [&](const auto& ranks) {
      return sum_over(ranks, field) / static_cast<double>(ranks.size());
    });
  };
  metrics["payload_bytes"] = metric("B", "lower", "exact", mean("payload_bytes"));
  metrics["dense_bytes"] = metric("B", "lower", "exact",
                                  std::vector<double>(samples.answers.size() / samples.period,
                                                      static_cast<double>(dense_bytes)));
  // A step that is held back has no error and no k-hat. In two shots the means lose something too.
  const auto held_back = [](const std::vector<json>& ranks) {
    return !ranks[0].at("exchanged").get<bool>();
  };
  const auto error = [&](const char* name) {
    metrics[name] = metric("1", "lower", "quality", per_step(samples, [&](const auto& ranks) {
                             return held_back(ranks)
                                        ? std::numeric_limits<double>::quiet_NaN()
                                        : sum_over(ranks, name) / static_cast<double>(ranks.size());
                           }));
  };
  error("relative_error");
  if (samples.answers[0][0].contains("second_relative_error")) error("second_relative_error");
  const double target = total(samples, "target");
  if (target > 0)
    metrics["quality"] =
        metric("1", "target:1", "quality", per_step(samples, [&](const auto& ranks) {
                 if (held_back(ranks)) return std::numeric_limits<double>::quiet_NaN();
                 const double wanted = sum_over(ranks, "target");
                 return wanted > 0 ? sum_over(ranks, "selected") / wanted : 0;
               }));
  metrics["bus_bandwidth"] = metric("bit/s", "higher", "timed", bus_bandwidths(samples));
  if (total(samples, "pulled_bytes") > 0)
    metrics["pull_bytes"] = metric("B", "lower", "exact", mean("pulled_bytes"));
  if (!samples.wire.counted) return metrics;
  const double host_steps = static_cast<double>(samples.answers.size()) *
                            static_cast<double>(samples.answers.at(0).size());
  metrics["wire_bytes"] =
      metric("B", "lower", "timed", {static_cast<double>(samples.wire.sent) / host_steps});
  return metrics;
}

json per_rank(const PointSamples& samples) {
  json ranks = json::array();
  for (std::size_t rank = 0; rank < samples.answers.at(0).size(); ++rank) {
    json columns;
    for (const char* field : {"compute", "wanted", "compress", "exchange", "decode", "total",
                              "payload_bytes", "target", "selected"}) {
      json& column = columns[field] = json::array();
      for (const std::vector<json>& step : samples.answers) column.push_back(step[rank].at(field));
    }
    ranks.push_back(std::move(columns));
  }
  return ranks;
}

json per_server(const PointSamples& samples) {
  json servers = json::array();
  if (samples.servers.empty()) return servers;
  for (std::size_t server = 0; server < samples.servers[0].size(); ++server) {
    json columns;
    for (const char* field : {"decode", "compress", "push_bytes", "pull_bytes", "relative_error"}) {
      json& column = columns[field] = json::array();
      for (const std::vector<json>& step : samples.servers)
        column.push_back(step[server].at(field));
    }
    servers.push_back(std::move(columns));
  }
  return servers;
}

json timeline_of(const PointSamples& samples, bool one_clock) {
  const std::size_t middle = median_step(samples).step;
  const std::vector<json>& ranks = samples.answers[middle];
  double first = ranks[0].at("begun");
  for (const json& rank : ranks) first = std::min(first, rank.at("begun").get<double>());
  // Of 0.1 us: finer than any clock, and half the text.
  const auto rounded = [](double seconds) { return std::round(seconds * 1e7) / 1e7; };
  json spans = json::array();
  for (const json& rank : ranks) {
    const double shift =
        one_clock ? (rank.at("begun").get<double>() - first) / samples.time_scale : 0;
    json& own = spans.emplace_back(json::array());
    for (const json& span : rank.at("timeline"))
      own.push_back({span[0], span[1], rounded(span[2].get<double>() / samples.time_scale + shift),
                     rounded(span[3].get<double>() / samples.time_scale + shift)});
  }
  return {{"step", middle}, {"ranks", spans}};
}

// Do the bytes that the links counted add up to what the ranks sent?

namespace {

// A header of 22 bytes goes before each message in Open MPI 4.1 over TCP (match + BTL).
constexpr double kMessageHeader = 22;

// Workers, then servers.
const json& answer_of(const PointSamples& samples, std::size_t step, std::size_t rank) {
  const std::size_t workers = samples.answers[step].size();
  return rank < workers ? samples.answers[step][rank] : samples.servers.at(step).at(rank - workers);
}

double sum_of(const PointSamples& samples, const char* field, std::size_t rank) {
  double sum = 0;
  for (std::size_t step = 0; step < samples.answers.size(); ++step)
    sum += answer_of(samples, step, rank).at(field).get<double>();
  return sum;
}

double message_bytes(const PointSamples& samples, std::size_t rank) {
  return sum_of(samples, "sent_bytes", rank) +
         kMessageHeader * sum_of(samples, "sent_messages", rank);
}

std::size_t ranks_of(const PointSamples& samples) {
  if (samples.answers.empty()) return 0;
  return samples.answers[0].size() + (samples.servers.empty() ? 0 : samples.servers[0].size());
}

// Workers that send to one server at a time meet at its switch port, which drops what its queue
// does not hold: TCP sends it again.
double dropped_bytes(const PointSamples& samples) {
  return samples.servers.empty() ? 0
                                 : static_cast<double>(samples.wire.drops) * samples.frame_bytes;
}

// Of a link that loses frames fewer arrive than were sent, and those are sent again.
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
    const double least = message_bytes(samples, rank) * samples.frame_bytes / samples.payload_bytes;
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
    bytes += message_bytes(samples, rank);
    sent_frames += sum_of(samples, "sent_frames", rank);
  }
  // Ethernet, IP and TCP headers with timestamps: a frame's bytes that are not payload.
  const double header = samples.frame_bytes - samples.payload_bytes;
  // Workers count frames at MTU 1500.
  const double frames =
      sent_frames * std::max(1.0, static_cast<double>(kPayloadBytes) / samples.payload_bytes);
  const double steps = static_cast<double>(samples.answers.size());
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
    for (std::string& doubt : scale_doubts(samples.answers, samples.time_scale))
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
