#include "harness/critical_path/path_record.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/statistics.h"
#include "netem/topology/flows.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// Returns the sums over all steps by rank and phase, as fractions of all steps' time.
json shares(std::span<const StepPath> paths, std::vector<PathPiece> StepPath::*pieces) {
  std::vector<PathPiece> sums;
  double length = 0;
  for (const StepPath& path : paths) {
    length += path.length;
    for (const PathPiece& piece : path.*pieces) add_piece(sums, piece);
  }
  sort_longest_first(sums);
  json all = json::array();
  for (const PathPiece& sum : sums)
    all.push_back({{"host", sum.rank},
                   {"phase", to_string(sum.phase)},
                   {"share", length > 0 ? sum.seconds / length : 0}});
  return all;
}

}  // namespace

RateOf rates_as_set(const Topology& topology) {
  return [links = links_as_set(topology)](int link, bool up) {
    return rate_of(links[static_cast<std::size_t>(link)], up);
  };
}

std::vector<LinkUse> link_uses(const WireCount& count, const Topology& topology, const RateOf& rate,
                               double seconds) {
  std::vector<LinkUse> uses;
  if (!count.counted || seconds <= 0) return uses;
  const auto add = [&](int link, std::uint64_t up, std::uint64_t down) {
    double busy = -1;
    if (const double bits = rate(link, true); bits > 0)
      busy = std::max(busy, static_cast<double>(up) * 8 / (bits * seconds));
    if (const double bits = rate(link, false); bits > 0)
      busy = std::max(busy, static_cast<double>(down) * 8 / (bits * seconds));
    if (busy >= 0) uses.push_back({topology.link_name(link), busy});
  };
  const int hosts = static_cast<int>(topology.hosts.size());
  for (int host = 0; host < hosts; ++host) {
    const auto i = static_cast<std::size_t>(host);
    if (i < count.sent_by.size() && i < count.received_by.size())
      add(host, count.sent_by[i], count.received_by[i]);
  }
  for (std::size_t i = 0; i < count.trunks.size() && i < topology.trunks.size(); ++i)
    add(hosts + static_cast<int>(i), count.trunks[i].up, count.trunks[i].down);
  std::stable_sort(uses.begin(), uses.end(),
                   [](const LinkUse& a, const LinkUse& b) { return a.busy > b.busy; });
  return uses;
}

std::vector<StepTimeline> timelines_of(const StepAnswers& step, bool one_clock) {
  std::vector<StepTimeline> timelines;
  for (const WorkerStep& rank : step.workers) {
    StepTimeline& timeline = timelines.emplace_back();
    timeline.begun = one_clock ? rank.begun : 0;
    timeline.spans = rank.timeline;
    for (const PhaseSpan& span : rank.timeline) timeline.total = std::max(timeline.total, span.end);
  }
  return timelines;
}

std::vector<ServedExchange> served_by(const StepAnswers& step, bool one_clock) {
  std::vector<ServedExchange> all;
  if (!one_clock) return all;
  // Servers' hosts follow the workers'.
  int host = static_cast<int>(step.workers.size());
  for (const ServerStep& server : step.servers) {
    for (const auto& [bucket, unit] : server.served)
      all.push_back({.host = host,
                     .bucket = bucket,
                     .last = unit.last,
                     .arrived = unit.arrived,
                     .averaged = unit.averaged,
                     .answered = unit.answered});
    ++host;
  }
  return all;
}

double exchange_seconds(std::span<const std::vector<StepTimeline>> steps) {
  double sum = 0;
  for (const std::vector<StepTimeline>& ranks : steps) {
    double least = std::numeric_limits<double>::infinity();
    for (const StepTimeline& rank : ranks)
      least = std::min(least, time_in(rank.spans, Phase::kExchange));
    if (!ranks.empty()) sum += least;
  }
  return sum;
}

json longest_payload(std::span<const StepAnswers> steps) {
  std::vector<double> bytes;
  for (const auto& [ranks, servers] : steps) {
    bytes.resize(ranks.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      bytes[rank] += static_cast<double>(ranks[rank].payload_bytes);
  }
  if (bytes.size() < 2) return nullptr;
  const auto most = std::max_element(bytes.begin(), bytes.end());
  const auto host = most - bytes.begin();
  std::vector<double> others = bytes;
  others.erase(others.begin() + host);
  const double median_of_others = median(others);
  if (median_of_others <= 0 || *most <= median_of_others) return nullptr;
  return {{"host", host}, {"times", *most / median_of_others}};
}

json path_record(std::span<const StepPath> paths, std::span<const LinkUse> uses,
                 double time_scale) {
  json steps = {{"seconds", json::array()},
                {"host", json::array()},
                {"phase", json::array()},
                {"spent", json::array()},
                {"waited", json::array()}};
  for (const StepPath& path : paths) {
    double waited = 0;
    for (const PathPiece& wait : path.waits) waited += wait.seconds;
    const PathPiece most = path.pieces.empty() ? PathPiece{} : path.pieces.front();
    steps["seconds"].push_back(path.length / time_scale);
    steps["host"].push_back(most.rank);
    steps["phase"].push_back(to_string(most.phase));
    steps["spent"].push_back(most.seconds / time_scale);
    steps["waited"].push_back(waited / time_scale);
  }
  json record = {{"pieces", shares(paths, &StepPath::pieces)},
                 {"waits", shares(paths, &StepPath::waits)},
                 {"steps", std::move(steps)}};
  if (uses.size() > 1) {
    std::vector<double> others;
    for (const LinkUse& use : uses.subspan(1)) others.push_back(use.busy);
    record["link"] = {{"name", uses[0].name}, {"busy", uses[0].busy}, {"others", median(others)}};
  }
  return record;
}

}  // namespace thinpipe
