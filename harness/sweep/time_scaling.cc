#include "harness/sweep/time_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/statistics.h"
#include "base/units.h"
#include "harness/launch/thresholds.h"
#include "harness/machine/machine.h"
#include "netem/topology/time_scale.h"
#include "netem/verify/measure_flows.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// A link may use this fraction of the rate that the machine carries with all cores at work. MPI
// copies every byte twice more than a bare TCP flow does, which leaves about half of the rate. Half
// of that is reserved for codecs, for the exchange's own additions and for timers to be on time.
constexpr double kFraction = 0.25;

// Returns the first of 1, 2, 5, 10 ... that is not below `least`. If no such number is up to
// kMaxTimeScale, returns a number greater than kMaxTimeScale.
double round_up(double least) {
  double decade = 1;
  while (decade <= kMaxTimeScale) {
    for (const double step : {1.0, 2.0, 5.0})
      if (decade * step >= least) return decade * step;
    decade *= 10;
  }
  return decade;
}

std::string deciding(const LinkSpec& link, const Capacity& machine, double by_rate,
                     double by_cores) {
  const std::string carried = fmt::format(
      "a TCP flow reaches {} on this machine, so {} ranks can receive {} each at the "
      "same time",
      format_rate(machine.flow), machine.ranks, format_rate(machine.per_rank()));
  if (by_rate > 1 && by_rate >= by_cores)
    return fmt::format("{}, and a link of {} may use a quarter of that", carried,
                       format_rate(link.rate()));
  if (by_cores > 1)
    return fmt::format(
        "{} ranks with {} codec thread{} share {} core{}, which ranks on real machines do not",
        machine.ranks, machine.threads, machine.threads == 1 ? "" : "s", machine.cores,
        machine.cores == 1 ? "" : "s");
  if (machine.flow == 0) return "no traffic passes a link";
  return fmt::format("{}, more than four times the link's {}", carried, format_rate(link.rate()));
}

void quicken(Direction& direction) {
  // Keeps netem, which costs CPU time too.
  if (!direction.impairment.none()) {
    direction.impairment = Impairment{};
    direction.impairment.delay = std::chrono::microseconds(1);
  }
  if (direction.rate == 0) return;
  direction.rate = kHighestLinkRate;
  direction.burst = direction.queue = 0;
  direction.queue_bdp = 0;
}

// Returns the number of whole cores that this process may use, within its control group's quota.
int own_cores() { return std::max(1, static_cast<int>(read_machine("/").cores)); }

template <class Value>
double greatest_of(const std::vector<WorkerStep>& ranks, Value value) {
  double most = value(ranks.front());
  for (const WorkerStep& rank : ranks) most = std::max(most, value(rank));
  return most;
}

// @param shift  s by which the exchange began later than planned
void scale_serial(WorkerStep& rank, double shift, double factor) {
  const double end = rank.total - rank.decode;
  // Decoding is not slowed down, but the timeline's spans will be divided by the factor.
  const double stretch = rank.decode > 0 ? factor * rank.codec_decode / rank.decode : factor;
  for (PhaseSpan& span : rank.timeline)
    if (span.phase == Phase::kDecode)
      for (double* moment : {&span.begin, &span.end}) *moment = end + stretch * (*moment - end);
  rank.compute = rank.wanted;
  rank.compress = rank.codec;
  rank.decode = rank.codec_decode;
  rank.exchange = std::max(0.0, (end - shift) / factor - rank.compute - rank.compress);
  rank.exposed = rank.exchange;
  rank.link_idle = rank.compute + rank.compress + rank.decode;
  rank.total = rank.compute + rank.compress + rank.exchange + rank.decode;
  rank.late /= factor;
  // The error of the step's emulated time.
  rank.skew = (std::fabs(rank.lag - shift) + std::max(0.0, rank.overrun)) / factor;
}

void scale_overlapped(WorkerStep& rank, double factor) {
  rank.compute = rank.wanted;
  rank.compress = rank.codec;
  rank.decode = rank.codec_decode;
  for (double* time : {&rank.exchange, &rank.exposed, &rank.link_idle, &rank.total, &rank.late})
    *time /= factor;
  rank.skew = std::max(0.0, rank.overrun) / factor;
}

}  // namespace

double Capacity::per_rank() const {
  return ranks > 1 ? flow * std::max(1.0, cores / 2.0) / ranks : 0;
}

TimeScaleChoice choose_time_scale(const LinkSpec& link, const Capacity& machine) {
  const double by_rate =
      machine.per_rank() > 0 ? link.tcp_ceiling() / (kFraction * machine.per_rank()) : 1;
  const double by_cores = static_cast<double>(machine.ranks) * machine.threads / machine.cores;
  TimeScaleChoice choice;
  choice.factor = round_up(std::max(by_rate, by_cores));
  choice.why = deciding(link, machine, by_rate, by_cores);
  const auto refuse = [&choice](const std::string& factor_and_reason) {
    choice.refused = true;
    choice.why += "; this needs a factor of " + factor_and_reason;
  };
  if (choice.factor > kMaxTimeScale)
    refuse(
        fmt::format("{:.0f}, above the maximum of {}", std::max(by_rate, by_cores), kMaxTimeScale));
  else if (choice.factor > 1 && link.disturbs())
    refuse(
        fmt::format("{}, but {}", choice.factor, time_scale_warnings(link, choice.factor).front()));
  else if (choice.factor > 1 && link.rate() / choice.factor < 1e3)
    refuse(fmt::format("{}, but a link would be slower than 1 kbit/s", choice.factor));
  return choice;
}

TimeScaleChoice choose_time_scale(const Topology& topology, const Capacity& machine) {
  LinkSpec fastest;
  for (int i = 0; i < topology.links(); ++i)
    if (topology.link(i).tcp_ceiling() > fastest.tcp_ceiling()) fastest = topology.link(i);
  TimeScaleChoice choice = choose_time_scale(fastest, machine);
  for (int i = 0; i < topology.links() && choice.factor > 1 && !choice.refused; ++i) {
    const LinkSpec& link = topology.link(i);
    choice.refused = link.disturbs() || (link.throttled() && link.rate() / choice.factor < 1e3);
    if (choice.refused)
      choice.why = fmt::format(
          "{}; this needs a factor of {}, but {}", choice.why, choice.factor,
          link.disturbs()
              ? topology.link_name(i) + ": " + time_scale_warnings(link, choice.factor).front()
              : topology.link_name(i) + " would be slower than 1 kbit/s");
  }
  return choice;
}

LinkSpec ceiling_link(const LinkSpec& link) {
  LinkSpec fast = link;
  quicken(fast.up);
  quicken(fast.down);
  return fast;
}

const TimeScaleChoice& ScaleChooser::choose(Network& network, const std::string& key, int ranks,
                                            const Topology& busiest) {
  const Key place{key, ranks};
  if (const auto known = choices_.find(place); known != choices_.end()) return known->second;
  Capacity machine{.cores = own_cores(), .ranks = ranks, .threads = threads_};
  if (ranks > 1) {
    Topology fast = busiest;
    for (int i = 0; i < fast.links(); ++i) fast.link(i) = ceiling_link(fast.link(i));
    network.set_topology(std::move(fast));
    const MeasuredFlows measured =
        measure_flows(network, {{0, ranks - 1}}, {.settle = 0.3, .seconds = 1});
    machine.flow = measured.flows.at(0).goodput;
  }
  return choices_[place] = choose_time_scale(busiest, machine);
}

void scale_step(StepAnswers& step, double factor, bool overlapped) {
  for (ServerStep& server : step.servers) {
    server.decode /= factor;
    server.compress /= factor;
  }
  if (step.workers.empty()) return;
  const double began =
      greatest_of(step.workers, [](const WorkerStep& rank) { return rank.arrived; });
  const double due =
      greatest_of(step.workers, [](const WorkerStep& rank) { return rank.arrived - rank.lag; });
  for (WorkerStep& rank : step.workers) {
    rank.raw = {rank.compute, rank.compress, rank.exchange, rank.decode, rank.total};
    overlapped ? scale_overlapped(rank, factor) : scale_serial(rank, began - due, factor);
  }
}

json raw_times(const std::vector<StepAnswers>& steps, bool overlapped) {
  json times = json::object();
  // The rank that waits least for other ranks within its exchange.
  const auto waits_more = [&](const WorkerStep& a, const WorkerStep& b) {
    return overlapped ? a.exchange > b.exchange : a.arrived < b.arrived;
  };
  for (const auto& [ranks, servers] : steps) {
    times["step_time"].push_back(
        greatest_of(ranks, [](const WorkerStep& rank) { return rank.raw.value().total; }));
    const RawTimes& raw = std::max_element(ranks.begin(), ranks.end(), waits_more)->raw.value();
    times["compute_time"].push_back(raw.compute);
    times["compress_time"].push_back(raw.compress);
    times["exchange_time"].push_back(raw.exchange);
    times["decode_time"].push_back(raw.decode);
  }
  return times;
}

std::vector<std::string> scale_warnings(const std::vector<StepAnswers>& steps, double factor) {
  std::vector<double> skews, totals;
  for (const auto& [ranks, servers] : steps) {
    // A step whose compute time passes in a later step has only sums of gradients left.
    if (std::ranges::none_of(ranks, [](const WorkerStep& rank) {
          return rank.exchanged || rank.wanted > 0;
        }))
      continue;
    skews.push_back(greatest_of(ranks, [](const WorkerStep& rank) { return rank.skew; }));
    totals.push_back(greatest_of(ranks, [](const WorkerStep& rank) { return rank.total; }));
  }
  if (totals.empty()) return {};
  const double skew = median(skews), total = median(totals);
  if (skew <= kSkewTolerance * total) return {};
  return {
      fmt::format("time scale {}: ranks began their exchanges up to {} off the planned time, in "
                  "steps of {} (limit {:g} %), because their codecs need longer. Use a greater "
                  "factor",
                  factor, format_time(skew), format_time(total), 100 * kSkewTolerance)};
}

}  // namespace thinpipe
