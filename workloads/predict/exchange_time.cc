#include "workloads/predict/exchange_time.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "workloads/exchange/segments.h"
#include "workloads/predict/pattern_flows.h"
#include "workloads/predict/sparse_flows.h"

namespace thinpipe {

namespace {

constexpr double kLeastQuantum = 4096;     // bytes: two or three frames
constexpr double kMostPieces = 4000;       // of an exchange
constexpr double kTooManyMessages = 3000;  // in the shortest exchange
constexpr std::size_t kMostKept = 2'000'000;

double bytes_of(const FlowGraph& graph) {
  double bytes = 0;
  for (const FlowQueue& queue : graph.queues)
    for (const FlowMessage& message : queue.messages) bytes += message.bytes;
  return bytes;
}

// Pieces of a message matter where there are few of them.
double quantum_for(const FlowGraph& graph) {
  return std::clamp(bytes_of(graph) / kMostPieces, kLeastQuantum,
                    static_cast<double>(kSegmentBytes));
}

std::string flow_key(const Spec& pattern, const std::vector<std::size_t>& sizes) {
  std::string key = pattern.to_string();
  for (const std::size_t size : sizes) key += "|" + std::to_string(size);
  return key;
}

}  // namespace

FlowTime ExchangeTimes::time_of(Flows& flows, std::span<const LinkFigures> links) {
  std::vector<double> key;
  for (const LinkFigures& link : links) key.insert(key.end(), {link.alpha, link.beta, link.credit});
  const auto [at, is_new] = flows.times.try_emplace(std::move(key));
  if (!is_new) return at->second;
  FlowTime time = flow_time(flows.graph, links, flows.quantum);
  const double more = time.bytes * (flows.longer - 1);
  time.seconds += more * links.front().beta;
  time.bytes += more;
  return at->second = time;
}

ExchangeTimes::Flows& ExchangeTimes::keep(std::string key, Flows flows) {
  flows.quantum = quantum_for(flows.graph);
  kept_ += flows.graph.messages();
  if (kept_ > kMostKept) {
    flows_.clear();
    kept_ = flows.graph.messages();
  }
  return flows_[std::move(key)] = std::move(flows);
}

std::optional<FlowTime> ExchangeTimes::all_reduce(const Spec& pattern, std::size_t elements,
                                                  int ranks, const LinkFigures& link) {
  if (ranks < 2 || elements == 0) return FlowTime{};
  const std::string key = "reduce|" + std::to_string(ranks) + "|" + flow_key(pattern, {elements});
  const auto known = flows_.find(key);
  if (known != flows_.end()) return time_of(known->second, link);
  const double least = least_messages(pattern, ranks);
  if (least <= 0 || least > kTooManyMessages) return std::nullopt;
  // With parts of whole segments, at least one each.
  const double parts = pattern.name == "tree" || pattern.name == "recursive-doubling" ? 1 : ranks;
  const double most = std::max(1.0, std::floor(kMostFlowMessages / least)) * parts *
                      static_cast<double>(Parts().segment());
  const auto shorter = static_cast<std::size_t>(std::min(most, static_cast<double>(elements)));
  auto graph = all_reduce_flows(pattern, shorter, ranks);
  if (!graph) return std::nullopt;
  const double longer = static_cast<double>(elements) / static_cast<double>(shorter);
  return time_of(keep(key, {.graph = std::move(*graph), .longer = longer, .times = {}}), link);
}

std::optional<FlowTime> ExchangeTimes::all_gather(const Spec& pattern,
                                                  const std::vector<std::size_t>& sizes,
                                                  const LinkFigures& link) {
  const double ranks = static_cast<double>(sizes.size());
  if (ranks < 2) return FlowTime{};
  const std::string key = "gather|" + flow_key(pattern, sizes);
  const auto known = flows_.find(key);
  if (known != flows_.end()) return time_of(known->second, link);
  // Every message comes to every other rank.
  if (ranks * (ranks - 1) > kTooManyMessages) return std::nullopt;
  double messages = 0;
  for (const std::size_t size : sizes)
    messages += (ranks - 1) * static_cast<double>(segments_of_bytes(size + sizeof(std::uint64_t)));
  const double longer = std::max(1.0, messages / kMostFlowMessages);
  std::vector<std::size_t> shorter;
  for (const std::size_t size : sizes)
    shorter.push_back(static_cast<std::size_t>(static_cast<double>(size) / longer));
  auto graph = all_gather_flows(pattern, shorter);
  if (!graph) return std::nullopt;
  return time_of(keep(key, {.graph = std::move(*graph), .longer = longer, .times = {}}), link);
}

std::optional<FlowTime> ExchangeTimes::sparse_all_reduce(const Spec& pattern,
                                                         const SparseSizes& sizes, int ranks,
                                                         const LinkFigures& link) {
  if (ranks < 2) return FlowTime{};
  const std::string key = "sparse|" + std::to_string(ranks) + "|" +
                          flow_key(pattern, {sizes.own, sizes.k, sizes.selected});
  const auto known = flows_.find(key);
  if (known != flows_.end()) return time_of(known->second, link);
  const double n = ranks;
  if (pattern.name == "oktopk" && n * (n - 1) > kTooManyMessages) return std::nullopt;
  const double messages =
      (pattern.name == "gtopk" ? 2 : n) * (n - 1) *
      (1 + static_cast<double>(sizes.k * sizeof(std::uint64_t)) / kSegmentBytes);
  const double longer = std::max(1.0, messages / kMostFlowMessages);
  const auto shortened = [&](std::size_t pairs) {
    return static_cast<std::size_t>(static_cast<double>(pairs) / longer);
  };
  auto graph = sparse_flows(
      pattern,
      {.own = shortened(sizes.own), .k = shortened(sizes.k), .selected = shortened(sizes.selected)},
      ranks);
  if (!graph) return std::nullopt;
  return time_of(keep(key, {.graph = std::move(*graph), .longer = longer, .times = {}}), link);
}

std::optional<FlowTime> ExchangeTimes::push_pull(const std::vector<FlowUnit>& units, int workers,
                                                 int servers,
                                                 const std::vector<LinkFigures>& links) {
  if (2.0 * workers * static_cast<double>(units.size()) > kTooManyMessages) return std::nullopt;
  std::string key = "pushpull|" + std::to_string(workers) + "|" + std::to_string(servers);
  for (const FlowUnit& unit : units)
    for (const double figure :
         {1.0 * unit.server, unit.push, unit.pull, unit.decode, unit.compress})
      key.append(reinterpret_cast<const char*>(&figure), sizeof figure);
  const auto known = flows_.find(key);
  if (known != flows_.end()) return time_of(known->second, links);
  FlowGraph graph = push_pull_flows(units, workers, servers, kMostFlowMessages);
  return time_of(keep(key, {.graph = std::move(graph), .times = {}}), links);
}

}  // namespace thinpipe
