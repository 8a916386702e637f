#include "harness/predict/prediction.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/push_pull_options.h"
#include "workloads/collectives/sparse_pairs.h"
#include "workloads/collectives/traffic.h"

namespace thinpipe {
namespace {

// Bytes of the length that precedes an all-gathered message.
constexpr double kLengthBytes = 8;

ExchangeCost ring_cost(const ExchangeWork& exchange, int ranks, const LinkFigures& link) {
  const double bytes = exchange.mean(ranks);
  if (exchange.operation == Exchange::kAllReduce)
    return {ring_all_reduce_time(ranks, bytes, link), 2.0 * (ranks - 1) / ranks * bytes};
  const double carried = (ranks - 1) * (bytes + kLengthBytes);
  if (static_cast<std::size_t>(ranks) > exchange.bytes.size())
    return {ring_all_gather_time(ranks, bytes + kLengthBytes, link), carried};
  std::vector<double> messages(exchange.bytes.begin(), exchange.bytes.begin() + ranks);
  for (double& message : messages) message += kLengthBytes;
  return {ring_all_gather_time(messages, link), carried};
}

// Returns the first two and the last two ranks, and the first of the last group. The rank with the
// most traffic is among them: roots and folded ranks are the first or the last two, and in a
// smaller last group the first rank takes part in the most rings.
std::set<int> telling_ranks(const Spec& collective, int ranks) {
  std::set<int> telling;
  for (const int rank : {0, 1, ranks - 2, ranks - 1})
    if (rank >= 0 && rank < ranks) telling.insert(rank);
  for (const ParameterInfo& parameter : find_collective(collective.name).parameters)
    if (parameter.name == "group") {
      const auto group = static_cast<int>(
          std::clamp<std::int64_t>(collective_parameters(collective).integer("group"), 1, ranks));
      telling.insert((ranks - 1) / group * group);
    }
  return telling;
}

double busiest(const Traffic& traffic) {
  return static_cast<double>(std::max(traffic.sent.bytes, traffic.received.bytes));
}

std::vector<std::size_t> sizes_of(const ExchangeWork& exchange, int ranks) {
  std::vector<std::size_t> sizes;
  for (int rank = 0; rank < ranks; ++rank)
    sizes.push_back(static_cast<std::size_t>(
        std::llround(exchange.bytes.at(static_cast<std::size_t>(rank) % exchange.bytes.size()))));
  return sizes;
}

std::size_t elements_of(const ExchangeWork& exchange, int ranks) {
  return static_cast<std::size_t>(std::llround(exchange.mean(ranks) / sizeof(float)));
}

ExchangeCost traffic_cost(const Spec& collective, const ExchangeWork& exchange, int ranks,
                          const LinkFigures& link) {
  int steps = 0;
  ExchangeCost cost;
  if (exchange.operation == Exchange::kAllReduce) {
    steps = all_reduce_steps(collective, ranks);
    for (const int rank : telling_ranks(collective, ranks))
      cost.bytes = std::max(
          cost.bytes,
          busiest(all_reduce_traffic(collective, elements_of(exchange, ranks), ranks, rank)));
  } else {
    steps = all_gather_steps(collective, ranks);
    const std::vector<std::size_t> sizes = sizes_of(exchange, ranks);
    for (const int rank : telling_ranks(collective, ranks))
      cost.bytes = std::max(cost.bytes, busiest(all_gather_traffic(collective, sizes, rank)));
  }
  cost.seconds = steps * link.alpha + link.seconds(cost.bytes);
  return cost;
}

SparseSizes sparse_sizes(const ExchangeWork& exchange, int ranks) {
  const double own = exchange.mean(ranks) / sizeof(SparsePair);
  return {.own = static_cast<std::size_t>(std::llround(own)),
          .k = static_cast<std::size_t>(std::llround(exchange.k)),
          .selected = static_cast<std::size_t>(
              std::llround(std::min(exchange.k, own * static_cast<double>(ranks))))};
}

ExchangeCost sparse_traffic_cost(const Spec& collective, const SparseSizes& sizes,
                                 const ExchangeAmong& among) {
  ExchangeCost cost;
  for (const int rank : telling_ranks(collective, among.ranks))
    cost.bytes = std::max(
        cost.bytes, busiest(sparse_all_reduce_traffic(collective, sizes, among.ranks, rank).even));
  cost.seconds = sparse_all_reduce_steps(collective, among.ranks) * among.link.alpha +
                 among.link.seconds(cost.bytes);
  return cost;
}

ExchangeCost cost_of(const FlowTime& time) { return {time.seconds, time.bytes, time.waiting}; }

// Returns the bytes that each server's link carries in its busier direction.
std::vector<double> bytes_by_server(const std::vector<FlowUnit>& units, int workers, int servers) {
  std::vector<double> pushed(static_cast<std::size_t>(servers)), pulled(pushed.size());
  for (const FlowUnit& unit : units) {
    pushed[static_cast<std::size_t>(unit.server)] += workers * (unit.push + kUnitHeadBytes);
    pulled[static_cast<std::size_t>(unit.server)] += workers * (unit.pull + kUnitHeadBytes);
  }
  for (std::size_t i = 0; i < pushed.size(); ++i) pushed[i] = std::max(pushed[i], pulled[i]);
  return pushed;
}

// Returns the cost of an exchange of many workers with parameter servers. The limit is the slowest
// server or worker: its link, in both directions at the same time, or the server's CPU.
ExchangeCost served_cost(const std::vector<FlowUnit>& units, int workers,
                         const std::vector<LinkFigures>& links) {
  ExchangeCost cost;
  const auto first = static_cast<std::size_t>(workers);
  for (std::size_t server = 0; first + server < links.size(); ++server) {
    double push = 0, pull = 0, work = 0;
    for (const FlowUnit& unit : units) {
      if (unit.server != static_cast<int>(server)) continue;
      push += workers * (unit.push + kUnitHeadBytes);
      pull += workers * (unit.pull + kUnitHeadBytes);
      work += workers * unit.decode + unit.compress;
    }
    const LinkFigures& link = links[first + server];
    const double bytes = std::max(push, pull);
    cost.bytes = std::max(cost.bytes, bytes);
    cost.seconds = std::max({cost.seconds, link.seconds(bytes), work});
    // All workers send at once, and the server's port takes a part of it meanwhile.
    if (link.beta > 0)
      cost.waiting = std::max(cost.waiting,
                              push * std::max(0.0, 1 - links.front().beta / (workers * link.beta)));
  }
  double pushed = 0, pulled = 0;  // by each worker
  for (const FlowUnit& unit : units) {
    pushed += unit.push + kUnitHeadBytes;
    pulled += unit.pull + kUnitHeadBytes;
  }
  const double bytes = std::max(pushed, pulled);
  cost.bytes = std::max(cost.bytes, bytes);
  for (std::size_t worker = 0; worker < first; ++worker)
    cost.seconds = std::max(cost.seconds, links[worker].seconds(bytes));
  cost.seconds += kPushPullSteps * links.front().alpha;
  return cost;
}

// Returns the cost of a two-shot exchange, in which each unit has as many equal slices as there are
// ranks. With many ranks, the limit is one direction of a rank's link, or its CPU.
ExchangeCost two_shot_cost(const ExchangeWork& exchange, const ExchangeAmong& among,
                           ExchangeTimes& times) {
  if (among.ranks < 2) return {};
  const double n = among.ranks;
  double bytes = 0, work = 0;
  for (const UnitWork& unit : exchange.units) {
    bytes += (n - 1) * (unit.push + unit.pull) / n + 2 * (n - 1) * kUnitHeadBytes;
    work += among.slower * (unit.decode + unit.compress / n);
  }
  const ExchangeCost busiest_rank = {
      kPushPullSteps * among.link.alpha + std::max(among.link.seconds(bytes), work), bytes};
  const std::size_t count = exchange.units.size() * static_cast<std::size_t>(among.ranks);
  if (!ExchangeTimes::follows(count, among.ranks)) return busiest_rank;
  std::vector<FlowUnit> slices;
  for (const UnitWork& unit : exchange.units)
    for (int rank = 0; rank < among.ranks; ++rank)
      slices.push_back({.server = rank,
                        .push = unit.push / n,
                        .pull = unit.pull / n,
                        .decode = among.slower * unit.decode / n,
                        .compress = among.slower * unit.compress / n});
  const auto time = times.push_pull(slices, among.ranks, 0, {among.link});
  return time ? cost_of(*time) : busiest_rank;
}

ExchangeCost push_pull_cost(const Spec& collective, const ExchangeWork& exchange,
                            const ExchangeAmong& among, ExchangeTimes& times) {
  const PushPullOptions options = push_pull_options(collective, among.ranks);
  if (options.colocated) return two_shot_cost(exchange, among, times);
  std::vector<std::size_t> elements;
  for (const UnitWork& unit : exchange.units)
    elements.push_back(static_cast<std::size_t>(unit.elements));
  const std::vector<int> server_of = partition_units(elements, options.servers, options.partition);
  std::vector<FlowUnit> units;
  for (std::size_t i = 0; i < exchange.units.size(); ++i) {
    const UnitWork& unit = exchange.units[i];
    units.push_back({.server = server_of[i],
                     .push = unit.push,
                     .pull = unit.pull,
                     .decode = among.slower * unit.decode,
                     .compress = among.slower * unit.compress});
  }
  std::vector<LinkFigures> links(static_cast<std::size_t>(among.ranks), among.link);
  links.insert(links.end(), among.servers.begin(), among.servers.end());
  links.resize(static_cast<std::size_t>(among.ranks + options.servers), among.link);
  const auto time = times.push_pull(units, among.ranks, options.servers, links);
  ExchangeCost cost = time ? cost_of(*time) : served_cost(units, among.ranks, links);
  cost.by_server = bytes_by_server(units, among.ranks, options.servers);
  return cost;
}

// Returns the token bucket's credit after an exchange in which the link carried `bytes`, with the
// tokens added during it.
double credit_after(double seconds, double bytes, const LinkFigures& link, double most) {
  if (link.beta <= 0) return most;
  return std::clamp(link.credit + seconds / link.beta - bytes, 0.0, most);
}

}  // namespace

double crowding(int ranks, int threads, double cores) {
  return cores <= 0 ? 1 : std::max(1.0, ranks * threads / cores);
}

std::optional<ExchangeCost> exchange_cost(const Spec& collective, const ExchangeWork& exchange,
                                          const ExchangeAmong& among, ExchangeTimes& times) {
  const auto& [ranks, link, servers, slower] = among;
  if (exchange.operation == Exchange::kPushPull) {
    return push_pull_cost(collective, exchange, among, times);
  }
  if (ranks < 2 || exchange.bytes.empty()) return ExchangeCost{};
  if (collective.name == "ring") return ring_cost(exchange, ranks, link);
  try {
    if (exchange.operation == Exchange::kSparseAllReduce) {
      const SparseSizes sizes = sparse_sizes(exchange, ranks);
      const auto time = times.sparse_all_reduce(collective, sizes, ranks, link);
      return time ? cost_of(*time) : sparse_traffic_cost(collective, sizes, among);
    }
    const auto time = exchange.operation == Exchange::kAllReduce
                          ? times.all_reduce(collective, elements_of(exchange, ranks), ranks, link)
                          : times.all_gather(collective, sizes_of(exchange, ranks), link);
    return time ? cost_of(*time) : traffic_cost(collective, exchange, ranks, link);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

bool has_model(const Spec& collective) {
  const CollectiveInfo& info = find_collective(collective.name);
  return info.can(Exchange::kPushPull) || (info.reduce && info.reduce->traffic != nullptr) ||
         (info.gather && info.gather->traffic != nullptr);
}

double ready_time(const ProfiledBucket& bucket, const ComputeTimes& times) {
  double last = 0;
  for (const std::size_t tensor : bucket.tensors)
    if (tensor < times.ready.size()) last = std::max(last, times.ready[tensor]);
  return last;
}

std::optional<Prediction> predict(const CodecProfile& codec, const PredictionInput& input,
                                  ExchangeTimes& times) {
  const double slower = crowding(input.ranks, input.threads, input.cores);
  double fastest = input.link.beta;  // s a byte; servers may have links of their own
  for (const LinkFigures& server : input.servers) fastest = std::min(fastest, server.beta);
  std::vector<BucketWork> buckets;
  ExchangeAmong among{
      .ranks = input.ranks, .link = input.link, .servers = input.servers, .slower = slower};
  LinkFigures& link = among.link;  // with its remaining credit, as among.servers
  double carried = 0;              // s in which the links carry the bytes of all exchanges
  bool incast = false;
  for (const ProfiledBucket& bucket : codec.buckets) {
    BucketWork work;
    work.ready = ready_time(bucket, input.times);
    work.compress = slower * bucket.compress;
    work.decode = slower * (bucket.decode + input.ranks * bucket.decode_message);
    for (const ExchangeWork& exchange : bucket.exchanges) {
      auto cost = exchange_cost(input.collective, exchange, among, times);
      if (!cost) return std::nullopt;
      cost->seconds += slower * exchange.copies;
      work.exchange += cost->seconds;
      // Servers answer one bucket while the next is pushed (workloads/replay/overlapped_step.cc).
      if (exchange.operation == Exchange::kPushPull)
        work.latency = std::min(work.exchange, kPushPullSteps * link.alpha);
      incast = incast || (input.queue > 0 && cost->waiting > input.queue);
      carried += cost->bytes * fastest;
      link.credit = credit_after(cost->seconds, cost->bytes, link, input.link.credit);
      for (std::size_t i = 0; i < std::min(among.servers.size(), cost->by_server.size()); ++i)
        among.servers[i].credit = credit_after(cost->seconds, cost->by_server[i], among.servers[i],
                                               input.servers[i].credit);
    }
    buckets.push_back(work);
  }
  const PipelineTime time = schedule_step(buckets, input.times.compute, input.kind);
  const double period = codec.period;
  const double accumulation = slower * codec.hold * (period - 1);
  const double worked = time.total + (period - 1) * input.times.compute + accumulation;
  // Steps follow one another. In a short step, token buckets do not gain the credit that each
  // step's exchange uses, so no period is shorter than its bytes take on the links.
  const double refilling = std::max(0.0, carried - worked);
  Prediction prediction;
  prediction.step = (worked + refilling) / period;
  prediction.compute = input.times.compute;
  prediction.compress = (time.compress + accumulation) / period;
  prediction.exchange = (time.exchange + refilling) / period;
  prediction.decode = time.decode / period;
  prediction.exposed = (time.exposed + refilling) / period;
  prediction.payload_bytes = codec.payload_bytes;
  prediction.period = codec.period;
  prediction.incast = incast;
  if (codec.density < 1) {
    const auto sparse = [&](Overlapping places) {
      return sparse_doubling_time(input.ranks, codec.payload_bytes, codec.density,
                                  sizeof(float) * codec.elements, places, input.link);
    };
    prediction.sparse_worst = sparse(Overlapping::kNone);
    prediction.sparse_independent = sparse(Overlapping::kIndependent);
  }
  prediction.link = input.link;
  return prediction;
}

nlohmann::json prediction_json(const Prediction& prediction, const CodecProfile& codec) {
  nlohmann::json json = {{"step_time", prediction.step},
                         {"compute_time", prediction.compute},
                         {"compress_time", prediction.compress},
                         {"exchange_time", prediction.exchange},
                         {"decode_time", prediction.decode},
                         {"exposed_time", prediction.exposed},
                         {"payload_bytes", prediction.payload_bytes},
                         {"period", prediction.period},
                         {"link",
                          {{"alpha", prediction.link.alpha},
                           {"beta", prediction.link.beta},
                           {"credit", prediction.link.credit}}},
                         {"codec", codec.source}};
  if (prediction.incast) json["incast"] = true;
  if (prediction.sparse_worst)
    json["sparse_all_reduce"] = {{"density", codec.density},
                                 {"worst_time", *prediction.sparse_worst},
                                 {"independent_time", *prediction.sparse_independent}};
  return json;
}

}  // namespace thinpipe
