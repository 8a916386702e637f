#include "harness/critical_path/path_record.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/statistics.h"
#include "netem/topology/flows.h"

namespace thinpipe {
namespace {

using nlohmann::json;

Phase phase_named(const std::string& name) {
  for (const Phase phase : {Phase::kCompute, Phase::kCompress, Phase::kExchange})
    if (name == to_string(phase)) return phase;
  return Phase::kDecode;
}

// All steps' pieces of one rank and phase together, as shares of all steps' time.
json shares(std::span<const StepPath> paths, std::vector<PathPiece> StepPath::*pieces) {
  std::vector<PathPiece> sums;
  double length = 0;
  for (const StepPath& path : paths) {
    length += path.length;
    for (const PathPiece& piece : path.*pieces) {
      const auto same = std::find_if(sums.begin(), sums.end(), [&](const PathPiece& sum) {
        return sum.rank == piece.rank && sum.phase == piece.phase;
      });
      if (same == sums.end())
        sums.push_back(piece);
      else
        same->seconds += piece.seconds;
    }
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](const PathPiece& a, const PathPiece& b) { return a.seconds > b.seconds; });
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

std::vector<StepTimeline> timelines_of(const std::vector<json>& ranks, bool one_clock) {
  std::vector<StepTimeline> timelines;
  for (const json& rank : ranks) {
    StepTimeline& timeline = timelines.emplace_back();
    timeline.begun = one_clock ? rank.at("begun").get<double>() : 0;
    for (const json& span : rank.at("timeline")) {
      timeline.spans.push_back({phase_named(span.at(0)), span.at(1), span.at(2), span.at(3)});
      timeline.total = std::max(timeline.total, timeline.spans.back().end);
    }
  }
  return timelines;
}

std::vector<ServedExchange> served_by(const std::vector<json>& servers, int workers,
                                      bool one_clock) {
  std::vector<ServedExchange> all;
  for (std::size_t server = 0; one_clock && server < servers.size(); ++server)
    for (const json& one : servers[server].at("served"))
      all.push_back({.host = workers + static_cast<int>(server),
                     .bucket = one.at(0),
                     .last = one.at(1),
                     .arrived = one.at(2),
                     .averaged = one.at(3),
                     .answered = one.at(4)});
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

json longest_payload(std::span<const std::vector<json>> steps) {
  std::vector<double> bytes;
  for (const std::vector<json>& ranks : steps) {
    bytes.resize(ranks.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      bytes[rank] += ranks[rank].at("payload_bytes").get<double>();
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
