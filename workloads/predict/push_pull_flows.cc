#include "workloads/predict/push_pull_flows.h"

#include <algorithm>
#include <cmath>

#include "workloads/exchange/exchange_units.h"
#include "workloads/exchange/segments.h"

namespace thinpipe {

namespace {

constexpr double kUnitHead = static_cast<double>(kUnitHeadBytes);

std::uint32_t cut_into(double payload, double segment) {
  return static_cast<std::uint32_t>(std::ceil((payload + kUnitHead) / segment));
}

}  // namespace

FlowGraph push_pull_flows(std::span<const FlowUnit> units, int workers, int servers,
                          double most_messages) {
  double bytes = 0;
  for (const FlowUnit& unit : units) bytes += workers * (unit.push + unit.pull + 2 * kUnitHead);
  const double segment = std::max(static_cast<double>(kSegmentBytes), bytes / most_messages);
  const bool colocated = servers == 0;
  // Payloads of a unit that come over the network, over which all of its work is spread.
  const int come = colocated ? workers - 1 : workers;
  FlowGraph graph{.ranks = workers + servers, .places = units.size() + 1};
  for (int server = 0; server < (colocated ? workers : servers); ++server)
    for (int worker = 0; worker < workers; ++worker) {
      const int rank = colocated ? server : workers + server;
      if (worker == rank) continue;
      FlowQueue push{.from = worker}, pull{.from = rank};
      for (std::size_t i = 0; i < units.size(); ++i) {
        const FlowUnit& unit = units[i];
        if (unit.server != server) continue;
        const auto place = static_cast<std::uint32_t>(i + 1);
        const std::uint32_t up = cut_into(unit.push, segment), down = cut_into(unit.pull, segment);
        const double work = (unit.decode * workers + unit.compress) / come;
        for (std::uint32_t part = 0; part < up; ++part)
          push.messages.push_back({.to = static_cast<std::uint32_t>(rank),
                                   .place = place,
                                   .bytes = (unit.push + kUnitHead) / up,
                                   .work = part + 1 == up ? work : 0});
        for (std::uint32_t part = 0; part < down; ++part)
          pull.messages.push_back({.to = static_cast<std::uint32_t>(worker),
                                   .place = 0,
                                   .bytes = (unit.pull + kUnitHead) / down,
                                   .after = up * static_cast<std::uint32_t>(come),
                                   .waits_at = place});
      }
      if (push.messages.empty()) continue;
      graph.queues.push_back(std::move(push));
      graph.queues.push_back(std::move(pull));
    }
  return graph;
}

}  // namespace thinpipe
