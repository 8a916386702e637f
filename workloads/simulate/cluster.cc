#include "workloads/simulate/cluster.h"

#include <simgrid/engine.h>  // has the macros that version.h needs
#include <simgrid/version.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "workloads/simulate/folded_memory.h"

namespace thinpipe {
namespace {

namespace s4u = simgrid::s4u;
using simgrid::kernel::timer::Timer;

constexpr double kUnthrottled = 1e13;      // B/s
constexpr std::size_t kHeadBytes = 64;     // of a message of which only the head arrives
constexpr std::size_t kSmallBytes = 4096;  // messages up to this size arrive whole
// A pause ends after so many s without a message, since a collective may do something after some
// time; the next pause lasts twice as long. Ranks whose pauses become longer than any compute time
// wait for each other.
constexpr double kFirstPause = 0.05, kLastPause = 1e6;

struct Message {
  int tag;
  std::size_t size;
  std::vector<std::byte> content;
};

// A token bucket: the bytes that may pass at once. Bytes beyond them take the link's time, during
// which the bucket fills again, so they are a debt.
class TokenBucket {
 public:
  explicit TokenBucket(const SimulatedLink& link) : link_(link), tokens_(link.credit) {}

  double at(double now) {
    if (link_.rate <= 0) return std::numeric_limits<double>::infinity();
    tokens_ = std::min(link_.credit, tokens_ + link_.rate * (now - last_));
    last_ = now;
    return tokens_;
  }
  void take(double bytes) {
    tokens_ -= bytes;
    taken_ += bytes;
  }
  // Returns the s for which the link carries the bytes since the last call.
  double carried() {
    const double bytes = std::exchange(taken_, 0);
    return link_.rate > 0 ? bytes / link_.rate : 0;
  }

 private:
  SimulatedLink link_;
  double tokens_, last_ = 0, taken_ = 0;
};

class SimulatedTransport;

// A message on its way to the network.
struct Outgoing {
  Message message;
  SimulatedTransport* sender;
  Transport::Request slot;
};

}  // namespace

class SimulatedCluster::Impl {
 public:
  // One direction of the connection between two ranks. Messages pass one after the other.
  class Connection {
   public:
    Connection(Impl& cluster, int from, int to) : cluster_(cluster), from_(from), to_(to) {
      for (const int link : cluster.path(from, to)) {
        buckets_.push_back(&cluster.buckets_[static_cast<std::size_t>(link)]);
        delay_ += cluster.network_.links[static_cast<std::size_t>(link)].delay;
      }
      delay_ += cluster.network_.message_time;
    }

    void enqueue(Outgoing message) {
      waiting_.push_back(std::move(message));
      if (!busy_) cluster_.start_soon(*this);
    }
    // Starts the next message. Only outside of programs, so that SimGrid reports its end.
    void start();
    void passed();

   private:
    void arrive();
    void finish();

    Impl& cluster_;
    int from_, to_;
    double delay_ = 0;
    std::vector<TokenBucket*> buckets_;
    std::deque<Outgoing> waiting_;  // the first one is on its way while busy_
    std::deque<Message> flying_;    // have left, and arrive after the delay
    bool busy_ = false;
    s4u::CommPtr passing_, passed_;  // SimGrid still uses a communication that has just ended
  };

  explicit Impl(SimulatedNetwork network);

  int hosts() const { return network_.hosts; }
  Connection& connection(int from, int to) {
    const auto key = static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to);
    const auto [at, is_new] = connections_.try_emplace(key);
    if (is_new) at->second = std::make_unique<Connection>(*this, from, to);
    return *at->second;
  }
  MessageMemory folded_messages(std::size_t stride);
  std::vector<int> path(int from, int to) const {
    return network_.path ? network_.path(from, to) : std::vector<int>{2 * from, 2 * to + 1};
  }
  void join(int rank, SimulatedTransport* transport) {
    transports_.at(static_cast<std::size_t>(rank)) = transport;
  }
  void add(int host, std::function<void()> program);
  void run();
  double refill_time() const;
  double take_carried() {
    double longest = 0;
    for (TokenBucket& bucket : buckets_) longest = std::max(longest, bucket.carried());
    return longest;
  }

 private:
  // Starts the connection's next message at this very moment, but outside of the programs.
  void start_soon(Connection& connection) {
    if (starting_.empty()) Timer::set(s4u::Engine::get_clock(), [this] { start_all(); });
    starting_.push_back(&connection);
  }
  void start_all() {
    std::vector<Connection*> now;
    std::swap(now, starting_);
    for (Connection* connection : now) connection->start();
  }
  void make_star();
  void make_mesh();

  SimulatedNetwork network_;
  s4u::Engine& engine_;
  std::vector<s4u::Host*> hosts_;
  std::vector<TokenBucket> buckets_;  // by link
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::vector<SimulatedTransport*> transports_;  // by rank
  std::vector<Connection*> starting_;
  int running_ = 0;  // programs that have not ended
  std::exception_ptr error_;
  std::optional<RepeatedPages> pages_;  // of all ranks' messages, if they are folded
};

namespace {

// The messages of one rank.
class SimulatedTransport : public Transport {
 public:
  SimulatedTransport(SimulatedCluster::Impl& cluster, int rank, Contents contents);

  int rank() const override { return rank_; }
  int size() const override;
  void send(Request slot, int peer, int tag, std::span<const std::byte> data) override;
  void receive(Request slot, int peer, int tag, std::span<std::byte> data) override {
    slot_at(slot) = {.state = State::kReceiving, .from = key_of(peer, tag), .data = data};
  }
  bool done(Request slot, std::size_t* received) override;
  void pause() override;
  bool has_threads() const override { return false; }
  MessageMemory message_memory(std::size_t stride) const override {
    return size() > kMaxUnfoldedRanks ? cluster_.folded_messages(stride)
                                      : Transport::message_memory(stride);
  }
  void progressed() override {}
  double now() const override { return simulated_now(); }
  TransportCounters counters() const override { return counters_; }

  // The cluster reports that a message has left or has arrived.
  void left(Request slot) {
    slot_at(slot).state = State::kIdle;
    wake();
  }
  void arrived(int from, Message message) {
    inbox_[key_of(from, message.tag)].push_back(std::move(message));
    wake();
  }

 private:
  enum class State { kIdle, kSending, kReceiving };
  struct Slot {
    State state = State::kIdle;
    std::uint64_t from = 0;
    std::span<std::byte> data = {};
  };

  static std::uint64_t key_of(int peer, int tag) {
    return static_cast<std::uint64_t>(peer) << 32 | static_cast<std::uint32_t>(tag);
  }
  Slot& slot_at(Request slot) {
    const auto at = static_cast<std::size_t>(slot);
    if (slots_.size() <= at) slots_.resize(at + 1);
    return slots_[at];
  }
  void wake() {
    has_news_ = true;
    next_pause_ = kFirstPause;
    resume();
  }
  void resume() {
    s4u::Actor* const actor = std::exchange(waiting_, nullptr);
    if (actor == nullptr) return;
    if (timer_ != nullptr) std::exchange(timer_, nullptr)->remove();
    actor->resume();
  }

  SimulatedCluster::Impl& cluster_;
  int rank_;
  Contents contents_;
  TransportCounters counters_;
  std::vector<Slot> slots_;
  std::unordered_map<std::uint64_t, std::deque<Message>> inbox_;  // by sender and tag
  s4u::Actor* waiting_ = nullptr;                                 // the program in pause()
  Timer* timer_ = nullptr;                                        // that ends the pause
  bool has_news_ = false;  // something happened that done() has not been asked about
  double next_pause_ = kFirstPause;
};

SimulatedTransport::SimulatedTransport(SimulatedCluster::Impl& cluster, int rank, Contents contents)
    : cluster_(cluster), rank_(rank), contents_(contents) {
  cluster.join(rank, this);
}

int SimulatedTransport::size() const { return cluster_.hosts(); }

void SimulatedTransport::send(Request slot, int peer, int tag, std::span<const std::byte> data) {
  ++counters_.messages;
  counters_.bytes += data.size();
  slot_at(slot) = {.state = State::kSending};
  const bool whole = contents_ == Contents::kWhole || data.size() <= kSmallBytes;
  const auto content = whole ? data : data.first(kHeadBytes);
  cluster_.connection(rank_, peer)
      .enqueue({{tag, data.size(), {content.begin(), content.end()}}, this, slot});
}

void SimulatedTransport::pause() {
  if (has_news_) return;
  if (next_pause_ > kLastPause)
    throw RunError("ranks of the simulation wait for each other without end");
  waiting_ = s4u::Actor::self();
  timer_ = Timer::set(simulated_now() + next_pause_, [this] {
    timer_ = nullptr;
    resume();
  });
  next_pause_ *= 2;
  s4u::this_actor::suspend();
}

bool SimulatedTransport::done(Request slot, std::size_t* received) {
  has_news_ = false;
  Slot& one = slot_at(slot);
  if (one.state == State::kIdle) return true;
  if (one.state == State::kSending) return false;
  const auto box = inbox_.find(one.from);
  if (box == inbox_.end() || box->second.empty()) return false;
  const Message& message = box->second.front();
  if (message.size > one.data.size())
    throw std::logic_error("a message is longer than its receiver's buffer");
  std::copy(message.content.begin(), message.content.end(), one.data.begin());
  if (received != nullptr) *received = message.size;
  box->second.pop_front();
  one.state = State::kIdle;
  return true;
}

// SimGrid's model with none of its corrections for the clusters of its authors: a link has the
// rate that it is given.
s4u::Engine& start_engine() {
  static std::string words[] = {"thinpipe-simulate",
                                "--cfg=network/model:CM02",
                                "--cfg=network/crosstraffic:0",
                                "--cfg=network/bandwidth-factor:1",
                                "--cfg=network/latency-factor:1",
                                "--cfg=contexts/stack-size:512",
                                "--log=root.thresh:critical"};
  static char* arguments[std::size(words) + 1] = {};
  std::transform(std::begin(words), std::end(words), arguments,
                 [](std::string& word) { return word.data(); });
  int count = static_cast<int>(std::size(words));
  static s4u::Engine engine(&count, arguments);
  return engine;
}

}  // namespace

SimulatedCluster::Impl::Impl(SimulatedNetwork network)
    : network_(std::move(network)),
      engine_(start_engine()),
      transports_(static_cast<std::size_t>(network_.hosts)) {
  for (const SimulatedLink& link : network_.links) buckets_.emplace_back(link);
  network_.path ? make_mesh() : make_star();
  s4u::Activity::on_completion_cb([](const s4u::Activity& activity) {
    if (auto* const connection = activity.get_data<Connection>()) connection->passed();
  });
}

namespace {

std::vector<s4u::Link*> make_links(s4u::NetZone& zone, const std::vector<SimulatedLink>& links) {
  std::vector<s4u::Link*> made;
  for (const SimulatedLink& link : links) {
    const double rate = link.rate > 0 ? link.rate : kUnthrottled;
    s4u::Link* const one = zone.create_link("link" + std::to_string(made.size()), rate);
    if (link.rate <= 0) one->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
    made.push_back(one->seal());
  }
  return made;
}

std::vector<s4u::Host*> make_hosts(s4u::NetZone& zone, int count) {
  std::vector<s4u::Host*> hosts;
  for (int i = 0; i < count; ++i)
    hosts.push_back(zone.create_host("host" + std::to_string(i), 1e9)->seal());
  return hosts;
}

std::vector<s4u::LinkInRoute> route_of(const std::vector<int>& path,
                                       const std::vector<s4u::Link*>& links) {
  std::vector<s4u::LinkInRoute> route;
  for (const int link : path) route.emplace_back(links.at(static_cast<std::size_t>(link)));
  return route;
}

constexpr bool kOneWay = false;

}  // namespace

void SimulatedCluster::Impl::make_star() {
  s4u::NetZone* const zone = s4u::create_star_zone("network");
  hosts_ = make_hosts(*zone, network_.hosts);
  const std::vector<s4u::Link*> links = make_links(*zone, network_.links);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    auto* const host = hosts_[i]->get_netpoint();
    zone->add_route(host, nullptr, nullptr, nullptr, {s4u::LinkInRoute(links[2 * i])}, kOneWay);
    zone->add_route(nullptr, host, nullptr, nullptr, {s4u::LinkInRoute(links[2 * i + 1])}, kOneWay);
  }
  zone->seal();
}

void SimulatedCluster::Impl::make_mesh() {
  s4u::NetZone* const zone = s4u::create_full_zone("network");
  hosts_ = make_hosts(*zone, network_.hosts);
  const std::vector<s4u::Link*> links = make_links(*zone, network_.links);
  for (int from = 0; from < network_.hosts; ++from)
    for (int to = 0; to < network_.hosts; ++to)
      if (from != to)
        zone->add_route(hosts_[static_cast<std::size_t>(from)]->get_netpoint(),
                        hosts_[static_cast<std::size_t>(to)]->get_netpoint(), nullptr, nullptr,
                        route_of(path(from, to), links), kOneWay);
  zone->seal();
}

void SimulatedCluster::Impl::Connection::start() {
  while (!busy_ && !waiting_.empty()) {
    const auto size = static_cast<double>(waiting_.front().message.size);
    const double now = s4u::Engine::get_clock();
    double free = size;
    for (TokenBucket* bucket : buckets_) free = std::min(free, std::max(0.0, bucket->at(now)));
    for (TokenBucket* bucket : buckets_) bucket->take(size);
    const auto bytes = static_cast<std::uint64_t>(size - free + 0.5);
    if (bytes == 0) {
      finish();
      continue;
    }
    busy_ = true;
    passing_ = s4u::Comm::sendto_init()->set_payload_size(bytes);
    passing_->set_data(this);
    passing_->set_source(cluster_.hosts_[static_cast<std::size_t>(from_)]);
    passing_->set_destination(cluster_.hosts_[static_cast<std::size_t>(to_)]);
  }
}

void SimulatedCluster::Impl::Connection::passed() {
  passed_ = std::move(passing_);
  busy_ = false;
  finish();
  start();
}

// The first message has left, and arrives after the path's delay.
void SimulatedCluster::Impl::Connection::finish() {
  Outgoing sent = std::move(waiting_.front());
  waiting_.pop_front();
  flying_.push_back(std::move(sent.message));
  sent.sender->left(sent.slot);
  if (delay_ > 0)
    Timer::set(s4u::Engine::get_clock() + delay_, [this] { arrive(); });
  else
    arrive();
}

void SimulatedCluster::Impl::Connection::arrive() {
  Message message = std::move(flying_.front());
  flying_.pop_front();
  cluster_.transports_.at(static_cast<std::size_t>(to_))->arrived(from_, std::move(message));
}

void SimulatedCluster::Impl::add(int host, std::function<void()> program) {
  ++running_;
  s4u::Actor::create("program", hosts_.at(static_cast<std::size_t>(host)),
                     [this, program = std::move(program)] {
                       try {
                         program();
                         --running_;
                       } catch (const simgrid::ForcefulKillException&) {
                         throw;  // SimGrid ends a program that waits without end
                       } catch (...) {
                         if (!error_) error_ = std::current_exception();
                       }
                     });
}

void SimulatedCluster::Impl::run() {
  engine_.run();
  if (error_) std::rethrow_exception(error_);
  if (running_ > 0) throw RunError("ranks of the simulation wait for each other without end");
}

// All ranks' arrays repeat the same pages, which hold a number of messages. A message lies in the
// same pages in every array, so its length, which comes first, stays the same whoever writes it.
MessageMemory SimulatedCluster::Impl::folded_messages(std::size_t stride) {
  const auto hosts = static_cast<std::size_t>(network_.hosts);
  if (stride % RepeatedPages::kPage != 0)
    throw std::logic_error("folded messages have lengths of whole pages");
  constexpr std::size_t kMaxMappings = 20'000;  // of all ranks; the kernel's default is 65,530
  if (!pages_) pages_.emplace(stride * std::max<std::size_t>(64, hosts * hosts / kMaxMappings));
  auto memory = std::make_shared<FoldedMemory>(*pages_, hosts * stride);
  std::byte* const data = memory->data();
  return {data, [memory = std::move(memory)](std::byte*) mutable { memory.reset(); }};
}

double SimulatedCluster::Impl::refill_time() const {
  double longest = 0;
  for (const SimulatedLink& link : network_.links)
    if (link.rate > 0) longest = std::max(longest, link.credit / link.rate);
  return longest;
}

SimulatedCluster::SimulatedCluster(SimulatedNetwork network)
    : impl_(std::make_unique<Impl>(std::move(network))) {}
SimulatedCluster::~SimulatedCluster() = default;

std::unique_ptr<Transport> SimulatedCluster::transport(int rank, Contents contents) {
  return std::make_unique<SimulatedTransport>(*impl_, rank, contents);
}

void SimulatedCluster::add(int host, std::function<void()> program) {
  impl_->add(host, std::move(program));
}
void SimulatedCluster::run() { impl_->run(); }
double SimulatedCluster::refill_time() const { return impl_->refill_time(); }
double SimulatedCluster::take_carried() { return impl_->take_carried(); }

double simulated_now() { return s4u::Engine::get_clock(); }

void simulate_until(double moment) {
  if (moment > simulated_now()) s4u::this_actor::sleep_until(moment);
}

void simulate_for(double seconds) {
  if (seconds > 0) s4u::this_actor::sleep_for(seconds);
}

std::string simgrid_version() {
  int major = 0, minor = 0, patch = 0;
  sg_version_get(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace thinpipe
