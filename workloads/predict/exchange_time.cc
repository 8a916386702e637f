#include "workloads/predict/exchange_time.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "workloads/collectives/collectives.h"
#include "workloads/collectives/segments.h"

namespace thinpipe {
namespace {

// Closed forms.

/// Returns the seconds of `rounds` rounds in which every rank forwards `chunk` bytes, each segment
/// on arrival, over links that were idle before. The result is the greater of
///   the link's time    alpha + (rounds * chunk - credit) beta and
///   the chain's time   rounds * alpha + (rounds - 1) (segment - credit) beta
///                      + (chunk - credit) beta,
/// where differences below 0 count as 0. Every path through the rounds is a mixture of the two, and
/// its time is convex in the fraction of the mixture.
double ring_chain_time(double rounds, double chunk, double segment, const LinkFigures& link) {
  if (rounds <= 0) return 0;
  const double busy = link.alpha + link.seconds(rounds * chunk);
  const double chain = rounds * link.alpha + (rounds - 1) * link.seconds(std::min(segment, chunk)) +
                       link.seconds(chunk);
  return std::max(busy, chain);
}

}  // namespace

double ring_all_reduce_time(int ranks, double bytes, const LinkFigures& link) {
  return ring_chain_time(2.0 * (ranks - 1), bytes / ranks, kRingSegment, link);
}

double ring_all_gather_time(int ranks, double bytes, const LinkFigures& link) {
  return ring_chain_time(ranks - 1.0, bytes, kRingSegment, link);
}

double ring_all_gather_time(std::span<const double> bytes, const LinkFigures& link) {
  const std::size_t n = bytes.size();
  if (n < 2) return 0;
  // Messages cross a link in the order of descending ranks. The prefix sums go round the ring
  // twice, so that they also cover windows that wrap round.
  std::vector<double> sum(2 * n + 1, 0.0);
  for (std::size_t i = 0; i < 2 * n; ++i) sum[i + 1] = sum[i] + bytes[n - 1 - i % n];
  double longest = 0;
  for (std::size_t window = 1; window < n; ++window) {
    const auto jumps = static_cast<double>(n - 1 - window);
    for (std::size_t begin = 0; begin < n; ++begin) {
      double segment = 0;  // the longest in the window
      for (std::size_t i = begin; i < begin + window && segment < kRingSegment; ++i)
        segment = std::max(segment, std::min(kRingSegment, bytes[n - 1 - i % n]));
      longest = std::max(longest, jumps * link.seconds(segment) + (jumps + 1) * link.alpha +
                                      link.seconds(sum[begin + window] - sum[begin]));
    }
  }
  return longest;
}

double worst_density(double density, double summands) { return std::min(1.0, density * summands); }

double independent_density(double density, double summands) {
  if (density >= 1) return summands > 0 ? 1 : 0;
  // For small densities 1 - (1 - density)^n would lose all digits.
  return -std::expm1(summands * std::log1p(-density));
}

double sparse_doubling_time(int ranks, double bytes, double density, double dense,
                            Overlapping places, const LinkFigures& link) {
  if (density <= 0) return 0;
  double alpha = 0, carried = 0;
  for (double summed = 1; summed < ranks; summed *= 2) {
    const double filled = places == Overlapping::kNone ? worst_density(density, summed)
                                                       : independent_density(density, summed);
    carried += std::min(dense, bytes * filled / density);
    alpha += link.alpha;
  }
  return alpha + link.seconds(carried);
}

namespace {

// Simulation.

constexpr double kFlowAhead = static_cast<double>(kSegmentsInFlight * kSegmentBytes);

// A token bucket, represented by the time until which its tokens are reserved.
struct FlowPort {
  double spoken = -std::numeric_limits<double>::infinity();
  double carried = 0;

  // Returns the time at which bytes that arrive at `moment` have passed.
  double pass(double moment, double bytes, double credit, double beta) {
    carried += bytes;
    spoken = std::max(spoken, moment - credit * beta) + bytes * beta;
    return std::max(moment, spoken);
  }
};

struct FlowQueueState {
  std::size_t next = 0;               // message being sent
  int pieces_left = 0;                // chunks of that message; 0: it has not begun
  double piece = 0;                   // bytes of a chunk
  double started = 0;                 // bytes of messages that have begun
  bool gated = false;                 // has messages that must wait after their arrival
  std::size_t here = 0, counted = 0;  // messages: arrived, complete
  double counted_bytes = 0;
};

struct FlowRank {
  FlowPort up, down;
  bool sending = false;
  std::size_t turn = 0;            // queue whose turn it is
  std::vector<std::size_t> out;    // queues sent by this rank
  std::vector<std::size_t> gated;  // queues with gates to this rank
  double busy_until = 0;           // of its CPU
};

struct FlowEvent {
  enum class Kind { kSent, kArrived, kWorked };
  double moment;
  std::uint64_t number;  // orders events at one moment by creation
  Kind kind;
  std::uint32_t queue;
  std::uint32_t message;
  bool operator>(const FlowEvent& other) const {
    return moment != other.moment ? moment > other.moment : number > other.number;
  }
};

class FlowSimulation {
 public:
  FlowSimulation(const FlowGraph& graph, std::span<const LinkFigures> ports, double quantum)
      : graph_(graph),
        ports_(ports),
        quantum_(quantum),
        queues_(graph.queues.size()),
        ranks_(static_cast<std::size_t>(graph.ranks)),
        counters_(static_cast<std::size_t>(graph.ranks) * graph.places) {
    for (std::size_t i = 0; i < graph.queues.size(); ++i) {
      const FlowQueue& queue = graph.queues[i];
      if (queue.messages.empty()) continue;
      ranks_[static_cast<std::size_t>(queue.from)].out.push_back(i);
      queues_[i].gated = std::any_of(queue.messages.begin(), queue.messages.end(),
                                     [](const FlowMessage& one) { return one.gate > 0; });
      if (queues_[i].gated) ranks_[queue.messages.front().to].gated.push_back(i);
    }
  }

  FlowTime run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) send(rank, 0);
    while (!events_.empty()) {
      const FlowEvent event = events_.top();
      events_.pop();
      if (event.kind == FlowEvent::Kind::kSent)
        sent(event);
      else if (event.kind == FlowEvent::Kind::kArrived)
        arrived(event);
      else
        worked(event);
    }
    FlowTime time{.seconds = last_, .waiting = waiting_};
    for (std::size_t i = 0; i < queues_.size(); ++i)
      if (queues_[i].counted != graph_.queues[i].messages.size())
        throw std::logic_error("messages of an exchange wait for each other");
    for (const FlowRank& rank : ranks_)
      time.bytes = std::max({time.bytes, rank.up.carried, rank.down.carried});
    return time;
  }

 private:
  const LinkFigures& figures(std::size_t rank) const {
    return ports_.size() == 1 ? ports_[0] : ports_[rank];
  }
  std::uint32_t& counter(std::size_t rank, std::uint32_t place) {
    return counters_[rank * graph_.places + place];
  }
  const FlowMessage& message_of(const FlowEvent& event) const {
    return graph_.queues[event.queue].messages[event.message];
  }
  void push(double moment, FlowEvent::Kind kind, std::size_t queue, std::size_t message) {
    events_.push({moment, number_++, kind, static_cast<std::uint32_t>(queue),
                  static_cast<std::uint32_t>(message)});
  }

  bool may_send(std::size_t index) {
    const FlowQueue& queue = graph_.queues[index];
    const FlowQueueState& state = queues_[index];
    if (state.pieces_left > 0) return true;
    if (state.next == queue.messages.size()) return false;
    const FlowMessage& message = queue.messages[state.next];
    if (counter(static_cast<std::size_t>(queue.from), message.waits_at) < message.after)
      return false;
    return queue.pace < 0 ||
           state.started < queues_[static_cast<std::size_t>(queue.pace)].counted_bytes + kFlowAhead;
  }

  // Sends the next chunk if the port is free and a chunk may leave.
  void send(std::size_t rank, double moment) {
    FlowRank& sender = ranks_[rank];
    if (sender.sending) return;
    for (std::size_t i = 0; i < sender.out.size(); ++i) {
      const std::size_t at = (sender.turn + i) % sender.out.size(), index = sender.out[at];
      if (!may_send(index)) continue;
      FlowQueueState& state = queues_[index];
      if (state.pieces_left == 0) {
        const double bytes = graph_.queues[index].messages[state.next].bytes;
        state.pieces_left = std::max(1, static_cast<int>(bytes / quantum_));
        state.piece = bytes / state.pieces_left;
        state.started += bytes;
      }
      sender.turn = state.pieces_left > 1 ? at : (at + 1) % sender.out.size();
      sender.sending = true;
      const LinkFigures& link = figures(rank);
      push(sender.up.pass(moment, state.piece, link.credit, link.beta), FlowEvent::Kind::kSent,
           index, state.next);
      return;
    }
  }

  // Bits of a chunk leave the receiver's port while later bits of the chunk still arrive.
  void sent(const FlowEvent& event) {
    const auto from = static_cast<std::size_t>(graph_.queues[event.queue].from);
    FlowQueueState& state = queues_[event.queue];
    const std::size_t to = message_of(event).to;
    const LinkFigures& link = figures(to);
    FlowPort& port = ranks_[to].down;
    const double here =
        port.pass(event.moment, state.piece, std::max(link.credit, state.piece), link.beta);
    if (link.beta > 0) waiting_ = std::max(waiting_, (port.spoken - event.moment) / link.beta);
    if (--state.pieces_left == 0) {
      ++state.next;
      push(here + figures(from).alpha, FlowEvent::Kind::kArrived, event.queue, event.message);
    }
    ranks_[from].sending = false;
    send(from, event.moment);
  }

  void arrived(const FlowEvent& event) {
    const FlowMessage& message = message_of(event);
    if (message.work <= 0) return worked(event);
    double& busy = ranks_[message.to].busy_until;
    busy = std::max(busy, event.moment) + message.work;
    push(busy, FlowEvent::Kind::kWorked, event.queue, event.message);
  }

  void worked(const FlowEvent& event) {
    FlowQueueState& state = queues_[event.queue];
    const std::size_t rank = message_of(event).to;
    ++state.here;
    if (!state.gated) count(event.queue, message_of(event));
    count_gated(ranks_[rank]);
    last_ = event.moment;
    send(rank, event.moment);
  }

  void count(std::size_t queue, const FlowMessage& message) {
    ++counter(message.to, message.place);
    ++queues_[queue].counted;
    queues_[queue].counted_bytes += message.bytes;
  }

  // Completes all messages whose gates are open, in the order of each queue.
  void count_gated(const FlowRank& rank) {
    for (bool moved = true; moved;) {
      moved = false;
      for (const std::size_t index : rank.gated) {
        const FlowQueueState& state = queues_[index];
        while (state.counted < state.here) {
          const FlowMessage& message = graph_.queues[index].messages[state.counted];
          if (counter(message.to, message.place) < message.gate) break;
          count(index, message);
          moved = true;
        }
      }
    }
  }

  const FlowGraph& graph_;
  std::span<const LinkFigures> ports_;
  double quantum_;
  std::vector<FlowQueueState> queues_;
  std::vector<FlowRank> ranks_;
  std::vector<std::uint32_t> counters_;
  std::priority_queue<FlowEvent, std::vector<FlowEvent>, std::greater<>> events_;
  std::uint64_t number_ = 0;
  double last_ = 0, waiting_ = 0;
};

constexpr double kMinQuantum = 4096;       // bytes: two or three frames
constexpr double kMaxPieces = 4000;        // chunks of an exchange
constexpr double kTooManyMessages = 3000;  // in the shortest exchange
constexpr std::size_t kMaxKept = 2'000'000;

double bytes_of(const FlowGraph& graph) {
  double bytes = 0;
  for (const FlowQueue& queue : graph.queues)
    for (const FlowMessage& message : queue.messages) bytes += message.bytes;
  return bytes;
}

// The chunk size matters only for exchanges with few chunks.
double quantum_for(const FlowGraph& graph) {
  return std::clamp(bytes_of(graph) / kMaxPieces, kMinQuantum, static_cast<double>(kSegmentBytes));
}

std::string flow_key(const Spec& collective, const std::vector<std::size_t>& sizes) {
  std::string key = collective.to_string();
  for (const std::size_t size : sizes) key += "|" + std::to_string(size);
  return key;
}

}  // namespace

FlowTime flow_time(const FlowGraph& graph, std::span<const LinkFigures> ports, double quantum) {
  return FlowSimulation(graph, ports, quantum).run();
}

FlowTime ExchangeTimes::time_of(Flows& flows, std::span<const LinkFigures> links) {
  std::vector<double> key;
  for (const LinkFigures& link : links) key.insert(key.end(), {link.alpha, link.beta, link.credit});
  const auto [at, is_new] = flows.times.try_emplace(std::move(key));
  if (!is_new) return at->second;
  FlowTime time = flow_time(flows.graph, links, flows.quantum);
  const double more = time.bytes * (flows.longer - 1);
  time.seconds += more * links.front().beta;
  time.bytes += more;
  // Queues that keep no pace with others grow with their messages.
  if (std::ranges::all_of(flows.graph.queues, [](const FlowQueue& one) { return one.pace < 0; }))
    time.waiting *= flows.longer;
  return at->second = time;
}

ExchangeTimes::Flows& ExchangeTimes::keep(std::string key, Flows flows) {
  flows.quantum = quantum_for(flows.graph);
  kept_ += flows.graph.messages();
  if (kept_ > kMaxKept) {
    flows_.clear();
    kept_ = flows.graph.messages();
  }
  return flows_[std::move(key)] = std::move(flows);
}

std::optional<FlowTime> ExchangeTimes::all_reduce(const Spec& collective, std::size_t elements,
                                                  int ranks, const LinkFigures& link) {
  if (ranks < 2 || elements == 0) return FlowTime{};
  const std::string key =
      "reduce|" + std::to_string(ranks) + "|" + flow_key(collective, {elements});
  const auto known = flows_.find(key);
  if (known != flows_.end()) return time_of(known->second, link);
  const CollectiveInfo& info = find_collective(collective.name);
  if (!info.reduce || info.reduce->messages == nullptr) return std::nullopt;
  const Parameters parameters(info.parameters, collective);
  const double least = info.reduce->messages(parameters, ranks);
  if (least > kTooManyMessages) return std::nullopt;
  // Every part has whole segments, at least one.
  const bool whole =
      info.reduce->plan != nullptr && info.reduce->plan(parameters, ranks, 0).parts == 1;
  const double parts = whole ? 1 : ranks;
  const double most = std::max(1.0, std::floor(kMaxFlowMessages / least)) * parts *
                      static_cast<double>(Parts().segment());
  const auto shorter = static_cast<std::size_t>(std::min(most, static_cast<double>(elements)));
  auto graph = all_reduce_flows(collective, shorter, ranks);
  if (!graph) return std::nullopt;
  const double longer = static_cast<double>(elements) / static_cast<double>(shorter);
  return time_of(keep(key, {.graph = std::move(*graph), .longer = longer, .times = {}}), link);
}

std::optional<FlowTime> ExchangeTimes::all_gather(const Spec& collective,
                                                  const std::vector<std::size_t>& sizes,
                                                  const LinkFigures& link) {
  const double ranks = static_cast<double>(sizes.size());
  if (ranks < 2) return FlowTime{};
  const std::string key = "gather|" + flow_key(collective, sizes);
  const auto known = flows_.find(key);
  if (known != flows_.end()) return time_of(known->second, link);
  // Every message reaches every other rank.
  if (ranks * (ranks - 1) > kTooManyMessages) return std::nullopt;
  double messages = 0;
  for (const std::size_t size : sizes)
    messages += (ranks - 1) * static_cast<double>(segments_of_bytes(size + sizeof(std::uint64_t)));
  const double longer = std::max(1.0, messages / kMaxFlowMessages);
  std::vector<std::size_t> shorter;
  for (const std::size_t size : sizes)
    shorter.push_back(static_cast<std::size_t>(static_cast<double>(size) / longer));
  auto graph = all_gather_flows(collective, shorter);
  if (!graph) return std::nullopt;
  return time_of(keep(key, {.graph = std::move(*graph), .longer = longer, .times = {}}), link);
}

std::optional<FlowTime> ExchangeTimes::sparse_all_reduce(const Spec& collective,
                                                         const SparseSizes& sizes, int ranks,
                                                         const LinkFigures& link) {
  if (ranks < 2) return FlowTime{};
  const std::string key = "sparse|" + std::to_string(ranks) + "|" +
                          flow_key(collective, {sizes.own, sizes.k, sizes.selected});
  const auto known = flows_.find(key);
  if (known != flows_.end()) return time_of(known->second, link);
  const CollectiveInfo& info = find_collective(collective.name);
  if (!info.sparse) return std::nullopt;
  const double least = info.sparse->messages(ranks);
  if (least > kTooManyMessages) return std::nullopt;
  const double messages =
      least * (1 + static_cast<double>(sizes.k * sizeof(std::uint64_t)) / kSegmentBytes);
  const double longer = std::max(1.0, messages / kMaxFlowMessages);
  const auto shortened = [&](std::size_t pairs) {
    return static_cast<std::size_t>(static_cast<double>(pairs) / longer);
  };
  auto graph = sparse_flows(
      collective,
      {.own = shortened(sizes.own), .k = shortened(sizes.k), .selected = shortened(sizes.selected)},
      ranks);
  if (!graph) return std::nullopt;
  return time_of(keep(key, {.graph = std::move(*graph), .longer = longer, .times = {}}), link);
}

bool ExchangeTimes::follows(std::size_t units, int workers) {
  return 2.0 * workers * static_cast<double>(units) <= kTooManyMessages;
}

std::optional<FlowTime> ExchangeTimes::push_pull(const std::vector<FlowUnit>& units, int workers,
                                                 int servers,
                                                 const std::vector<LinkFigures>& links) {
  if (!follows(units.size(), workers)) return std::nullopt;
  std::string key = "pushpull|" + std::to_string(workers) + "|" + std::to_string(servers);
  for (const FlowUnit& unit : units)
    for (const double figure :
         {1.0 * unit.server, unit.push, unit.pull, unit.decode, unit.compress})
      key.append(reinterpret_cast<const char*>(&figure), sizeof figure);
  const auto known = flows_.find(key);
  if (known != flows_.end()) return time_of(known->second, links);
  FlowGraph graph = push_pull_flows(units, workers, servers, kMaxFlowMessages);
  return time_of(keep(key, {.graph = std::move(graph), .times = {}}), links);
}

}  // namespace thinpipe
