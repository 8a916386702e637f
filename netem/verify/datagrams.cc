#include "netem/verify/datagrams.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include <boost/math/special_functions/beta.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/statistics.h"
#include "netem/sandbox.h"
#include "netem/verify/expected.h"

namespace thinpipe {
namespace {

using Clock = std::chrono::steady_clock;

class Prober {
 public:
  Prober(SocketPair pair, const RoundTripOptions& options)
      : pair_(std::move(pair)), options_(options) {}

  RoundTrips run() {
    // One loop sends, echoes and receives, so that no other process must be woken on an idle link.
    while (sent_.size() < wanted() || (answered_ < sent_.size() && now() < give_up_)) {
      if (stop_requested()) throw RunError("interrupted");
      if (sent_.size() < wanted() && now() >= next_) send_probe();
      wait();
      while (echo()) {
      }
      while (take_answer()) {
      }
    }
    return result();
  }

 private:
  std::size_t wanted() const { return static_cast<std::size_t>(std::max(options_.count, 2)); }
  double now() const { return seconds_since(begin_); }

  void send_probe() {
    std::array<char, kProbePayload> datagram = {};
    const auto number = static_cast<std::uint32_t>(sent_.size());
    std::memcpy(datagram.data(), &number, sizeof(number));
    sent_.push_back(now());
    times_.push_back(-1);
    // A datagram that cannot be sent because of a full queue counts as lost.
    send(pair_.sender.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
    next_ = std::max(next_ + options_.spacing, sent_.back());
    give_up_ = sent_.back() + options_.timeout;
  }

  void wait() {
    const double until = sent_.size() < wanted() ? next_ : give_up_;
    const double seconds = std::clamp(until - now(), 0.0, 0.1);
    const timespec limit = {0, static_cast<long>(seconds * 1e9)};
    pollfd waiting[] = {{pair_.sender.get(), POLLIN, 0}, {pair_.receiver.get(), POLLIN, 0}};
    ppoll(waiting, 2, &limit, nullptr);
  }

  bool echo() {
    std::array<char, kProbePayload> datagram;
    const ssize_t got = recv(pair_.receiver.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
    if (got > 0)
      send(pair_.receiver.get(), datagram.data(), static_cast<std::size_t>(got), MSG_DONTWAIT);
    return got > 0;
  }

  bool take_answer() {
    std::array<char, kProbePayload> datagram;
    const ssize_t got = recv(pair_.sender.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
    if (got < static_cast<ssize_t>(sizeof(std::uint32_t))) return false;
    std::uint32_t number;
    std::memcpy(&number, datagram.data(), sizeof(number));
    if (number < times_.size() && times_[number] < 0) {  // not a duplicate
      times_[number] = now() - sent_[number];
      ++answered_;
    }
    return true;
  }

  RoundTrips result() const {
    std::vector<double> times;
    for (std::size_t i = 1; i < times_.size(); ++i)
      if (times_[i] >= 0) times.push_back(times_[i]);
    RoundTrips result;
    result.sent = static_cast<int>(wanted()) - 1;
    result.lost = result.sent - static_cast<int>(times.size());
    if (times.empty()) return result;
    result.median = median(times);
    result.p95 = quantile(times, 0.95);
    result.most = quantile(times, 1);
    return result;
  }

  SocketPair pair_;
  const RoundTripOptions& options_;
  Clock::time_point begin_ = Clock::now();
  double next_ = 0, give_up_ = 0;
  std::vector<double> sent_, times_;  // by number; -1 where no answer came
  std::size_t answered_ = 0;
};

constexpr double kTurnSeconds = 5e-4;  // s between two refills of the queue
constexpr int kMaxAtOnce = 40;         // datagrams of a GSO packet: 64 kB at MTU 1500
constexpr double kSocketBytes = 60e3;  // bytes of frames per socket in flight
constexpr std::size_t kMaxSockets = 400;

// Returns the number of datagrams per batch, which is 1 if the link needs single frames. Otherwise
// a batch is small compared with the queue, so that the queue stays nearly full.
int at_once(const LinkSpec& link, double bytes_per_second, double queue) {
  if (link.needs_single_frames()) return 1;
  const double frame = link.frame_bytes();
  const double most = std::min({queue / 16 / frame, bytes_per_second * kTurnSeconds / frame,
                                65000.0 / frame, static_cast<double>(kMaxAtOnce)});
  return std::max(1, static_cast<int>(most));
}

double beta_quantile(double a, double b, double p) {
  double low = 0, high = 1;
  // Bisection: 60 halvings reach a double's resolution.
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (boost::math::ibeta(a, b, middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

constexpr double kMaxBehind = 16;           // most datagrams sent at once when this process is late
constexpr double kLossFraction = 0.5;       // of the link's rate to use
constexpr double kMaxDatagramRate = 12000;  // datagrams per s
constexpr double kMinDatagrams = 100;       // however long they take

double spacing_of(const LinkSpec& link) {
  const double frame =
      8 * (kLossPayload + kDatagramHeaders + std::max(link.up.overhead, link.down.overhead));
  const double by_rate = link.throttled() ? frame / (kLossFraction * link.rate()) : 0;
  return std::max(by_rate, 1 / kMaxDatagramRate);
}

// Returns the time in s after which the last datagram must have arrived. It allows for the delay,
// four deviations of the jitter, the datagrams queued before the last one, and a late wake-up of
// this process.
double linger_seconds(const LinkSpec& link) {
  const auto jitter = link.up.impairment.jitter + link.down.impairment.jitter;
  return 0.25 + link.delay() + 4 * in_seconds(jitter) +
         2 * kMaxBehind * transmission_time(link, kLossPayload);
}

void count(const std::vector<NumberedArrival>& arrivals, LossFigures& figures) {
  std::vector<bool> seen(figures.sent);
  std::uint64_t newest = 0;
  figures.lost = figures.sent;
  for (const NumberedArrival& one : arrivals) {
    if (one.number >= figures.sent) continue;  // corrupted without a checksum error
    if (seen[one.number]) {
      ++figures.duplicates;
      continue;
    }
    seen[one.number] = true;
    --figures.lost;
    if (one.number < newest) ++figures.overtaken;
    newest = std::max(newest, one.number);
  }
}

}  // namespace

RoundTrips measure_round_trips(const Network& network, const Flow& flow,
                               const RoundTripOptions& options) {
  return Prober(datagram_pair(network, flow, 1), options).run();
}

RoundTripOptions idle_probes(const LinkSpec& link, int count) {
  constexpr double kSpacing = 2e-3, kShare = 0.1, kLong = 2;  // s, fraction of the rate, s in total
  constexpr int kMin = 5;
  const double crossing = transmission_time(link, kProbePayload);
  RoundTripOptions options;
  options.spacing = std::max(kSpacing, crossing / kShare);
  options.count = std::clamp(static_cast<int>(kLong / options.spacing), kMin, count);
  options.timeout = 0.5 + 2 * link.round_trip() + 4 * crossing;
  return options;
}

QueueFlood::QueueFlood(const Network& network, const LinkSpec& link, const Flow& flow,
                       double overload)
    : bytes_per_second_(overload * link.rate() / 8) {
  const LinkSpec filled = link.with_defaults();
  const double queue = std::max(filled.up.queue, filled.down.queue);
  first_bytes_ = filled.up.queue + filled.down.queue + filled.up.burst + filled.down.burst;
  const int together = at_once(link, bytes_per_second_, queue);
  const int datagram = static_cast<int>(link.mtu) + kEthernetHeader - kDatagramHeaders;
  batch_bytes_ = together * static_cast<double>(link.frame_bytes());
  const auto sockets = static_cast<std::size_t>(std::ceil(first_bytes_ / kSocketBytes)) + 1;
  pairs_.resize(std::min(sockets, kMaxSockets));
  const int no_buffer = 1;  // datagrams are dropped at the receiving socket, which nobody reads
  for (SocketPair& pair : pairs_) {
    pair = datagram_pair(network, flow, 1);
    setsockopt(pair.receiver.get(), SOL_SOCKET, SO_RCVBUF, &no_buffer, sizeof(no_buffer));
  }
  for (const SocketPair& pair : pairs_) senders_.emplace_back(pair.sender, datagram, together);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

bool QueueFlood::send_batch() {
  for (std::size_t tried = 0; tried < senders_.size(); ++tried) {
    turn_ = (turn_ + 1) % senders_.size();
    if (senders_[turn_].send_batch(false)) return true;
  }
  return false;
}

void QueueFlood::run(const std::stop_token& stop) {
  block_signals();
  const auto begin = Clock::now();
  double due = first_bytes_;
  double sent = 0;
  while (!stop.stop_requested()) {
    // Datagrams that could not be sent are not made up for.
    while (sent < due && send_batch()) sent += batch_bytes_;
    sent = std::max(sent, due);
    wait_until(now_seconds() + kTurnSeconds);
    due = first_bytes_ + seconds_since(begin) * bytes_per_second_;
  }
}

ShareInterval clopper_pearson(double count, double trials, double confidence) {
  const double tail = (1 - confidence) / 2;
  ShareInterval interval;
  if (count > 0) interval.low = beta_quantile(count, trials - count + 1, tail);
  if (count < trials) interval.high = beta_quantile(count + 1, trials - count, 1 - tail);
  return interval;
}

LossFigures measure_loss(const Network& network, const LinkSpec& link, const Flow& flow,
                         double seconds) {
  const double spacing = spacing_of(link);
  const auto wanted =
      static_cast<std::uint64_t>(std::max(std::ceil(seconds / spacing), kMinDatagrams));
  const SocketPair pair = datagram_pair(network, flow, 1);
  NumberedSender sender(pair.sender, kLossPayload, 1);
  NumberedReceiver receiver(pair.receiver, kLossPayload);
  const std::uint64_t drops_before = receive_buffer_drops(network, flow.to);
  std::vector<NumberedArrival> arrivals;
  arrivals.reserve(wanted);
  double next = wall_clock();
  const double timeout = linger_seconds(link);
  const bool doubles =
      link.up.impairment.duplicate.percent > 0 || link.down.impairment.duplicate.percent > 0;
  for (double give_up = next + timeout;
       sender.next() < wanted ||
       ((doubles || arrivals.size() < wanted) && wall_clock() < give_up);) {
    if (stop_requested()) throw RunError("interrupted");
    const double now = wall_clock();
    next = std::max(next, now - kMaxBehind * spacing);
    while (sender.next() < wanted && next <= now) {
      sender.send_batch(true);
      next += spacing;
      give_up = now + timeout;
    }
    receiver.wait(std::clamp((sender.next() < wanted ? next : give_up) - now, 0.0, 0.05));
    receiver.take(arrivals);
  }
  LossFigures figures;
  figures.sent = wanted;
  count(arrivals, figures);
  const std::uint64_t dropped_at_socket = receive_buffer_drops(network, flow.to) - drops_before;
  figures.lost -= std::min(figures.lost, dropped_at_socket);
  return figures;
}

}  // namespace thinpipe
