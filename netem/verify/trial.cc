#include "netem/verify/trial.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/sandbox.h"
#include "netem/topology/flows.h"
#include "netem/verify/sockets.h"

namespace thinpipe {
namespace {

constexpr double kBin = 1e-3;  // s

double finite(double value) { return value < std::numeric_limits<double>::infinity() ? value : 0; }

// The TCP ceiling of a path between two hosts while a schedule plays.
class PathDelivery {
 public:
  /// @param player  outlives this
  PathDelivery(const SchedulePlayer& player, std::vector<Hop> path)
      : player_(player), path_(std::move(path)) {
    const Topology& topology = player.planned();
    std::uint32_t mtu = std::numeric_limits<std::uint32_t>::max();
    for (const Hop& hop : path_) mtu = std::min(mtu, topology.link(hop.link).mtu);
    for (const Hop& hop : path_) {
      const LinkSpec& link = topology.link(hop.link);
      const double charged = mtu + kEthernetHeader + (hop.up ? link.up : link.down).overhead;
      payload_shares_.push_back((mtu - kTcpHeaders) / charged);
    }
  }

  /// Returns the expected mean goodput over [from, to] in bit/s of payload. It assumes that the
  /// path carries, in every millisecond, as much as the slowest link can carry in that millisecond.
  /// Returns 0 if no link is throttled.
  double goodput(double from, double to) const {
    if (to <= from) return 0;
    double crossed = 0;
    for (double t = from; t < to; t += kBin) {
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t hop = 0; hop < path_.size(); ++hop)
        least = std::min(least, payload_bits(hop, t, std::min(t + kBin, to)));
      crossed += least;
    }
    return finite(crossed) / (to - from);
  }

  /// The link of the path that carries the least over the whole interval.
  struct Narrowest {
    double goodput = 0;  ///< bit/s of payload; 0 if no link is throttled
    double rate = 0;     ///< bit/s on the wire
  };
  /// Returns the link that carries the least over the whole interval. If this link is always the
  /// bottleneck, its goodput equals goodput(). If the bottleneck alternates between links, the
  /// actual goodput lies between goodput() and this link's goodput and depends on the queues.
  Narrowest narrowest(double from, double to) const {
    Narrowest least{std::numeric_limits<double>::infinity(), 0};
    for (std::size_t hop = 0; hop < path_.size(); ++hop) {
      const double goodput = payload_bits(hop, from, to) / (to - from);
      if (goodput < least.goodput) least = {goodput, goodput / payload_shares_[hop]};
    }
    least.goodput = finite(least.goodput);
    return least;
  }

  /// Returns the path's means: up_rate of the first link, down_rate of the last link, delay and
  /// loss of all links together.
  LinkMean mean(double from, double to) const {
    LinkMean all;
    double delivered = 1;
    for (const Hop& hop : path_) {
      const LinkState one = player_.mean(hop.link, hop.up, from, to);
      if (hop == path_.front()) all.up_rate = one.rate;
      if (hop == path_.back()) all.down_rate = one.rate;
      all.delay += one.delay;
      delivered *= 1 - one.loss;
    }
    all.loss = 1 - delivered;
    return all;
  }

 private:
  double payload_bits(std::size_t hop, double from, double to) const {
    return payload_shares_[hop] * player_.bits(path_[hop].link, path_[hop].up, from, to);
  }

  const SchedulePlayer& player_;
  std::vector<Hop> path_;
  std::vector<double> payload_shares_;  ///< by hop: payload over charged bytes of a full frame
};

constexpr int kTrialPollMilliseconds = 20;
// s; longer than any outage that a TCP stream survives.
constexpr double kTrialTimeout = 120;

// Sends data on a socket until a stop is requested. Never blocks for longer than one poll (20 ms),
// so that it also ends during a link outage.
void send_until_stop(const std::stop_token& stop, int socket_fd) {
  const std::vector<char> block(std::size_t{64} * 1024);
  pollfd ready = {socket_fd, POLLOUT, 0};
  while (!stop.stop_requested()) {
    if (poll(&ready, 1, kTrialPollMilliseconds) <= 0) continue;
    if (send(socket_fd, block.data(), block.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        errno != EAGAIN && errno != EINTR)
      return;  // the receiver reports the error
  }
}

// Payload received until a moment.
struct Reading {
  double time = 0, bytes = 0;
};

bool is_before(const Reading& reading, double time) { return reading.time < time; }

// Returns the payload received until `t`, by linear interpolation.
double bytes_at(const std::vector<Reading>& readings, double t) {
  const auto after = std::lower_bound(readings.begin(), readings.end(), t, is_before);
  if (after == readings.begin()) return readings.front().bytes;
  if (after == readings.end()) return readings.back().bytes;
  const Reading &a = *std::prev(after), &b = *after;
  return a.bytes + (b.bytes - a.bytes) * (t - a.time) / (b.time - a.time);
}

class Trial {
 public:
  Trial(SchedulePlayer& player, const PathDelivery& path, const TrialOptions& options,
        const std::function<void(const TrialWindow&)>& told)
      : player_(player), path_(path), options_(options), told_(told) {}

  TrialResult run(const SocketPair& stream) {
    std::vector<char> block(1 << 20);
    pollfd ready = {stream.receiver.get(), POLLIN, 0};
    readings_.push_back({-options_.settle, 0});
    while (readings_.back().time < options_.seconds) {
      player_.check();
      if (stop_requested()) throw RunError("interrupted");
      const bool more = poll(&ready, 1, kTrialPollMilliseconds) > 0;
      const ssize_t got =
          more ? recv(stream.receiver.get(), block.data(), block.size(), MSG_DONTWAIT) : 0;
      if (got < 0 && errno != EAGAIN) throw SystemError("receive on the scheduled link");
      if (more && got == 0) throw RunError("the stream on the scheduled link ended");
      note(player_.now(), static_cast<double>(std::max<ssize_t>(got, 0)));
    }
    return finish();
  }

 private:
  void note(double time, double bytes) {
    if (bytes > 0) {
      result_.longest_gap = std::max(result_.longest_gap, time - std::max(heard_, 0.0));
      heard_ = time;
    } else if (time - heard_ > kTrialTimeout) {
      throw RunError("no data arrived on the scheduled link for two minutes");
    }
    readings_.push_back({time, readings_.back().bytes + bytes});
    while (time >= window_end() && result_.windows.size() < window_count()) close_window();
  }

  std::size_t window_count() const {
    return static_cast<std::size_t>(std::ceil(options_.seconds / options_.window - 1e-9));
  }
  double window_end() const {
    return std::min(options_.seconds,
                    static_cast<double>(result_.windows.size() + 1) * options_.window);
  }

  void close_window() {
    TrialWindow window;
    window.begin = static_cast<double>(result_.windows.size()) * options_.window;
    window.end = window_end();
    if (result_.windows.empty()) bytes_at_zero_ = bytes_at(readings_, 0);
    const double span = window.end - window.begin;
    window.link = path_.mean(window.begin, window.end);
    window.rate = path_.narrowest(window.begin, window.end).rate;
    window.expected = path_.goodput(window.begin, window.end);
    window.goodput =
        8 * (bytes_at(readings_, window.end) - bytes_at(readings_, window.begin)) / span;
    due_ += window.expected * span;
    result_.windows.push_back(window);
    // Readings before the window's end are not needed any more.
    const auto old = std::lower_bound(readings_.begin(), readings_.end(), window.end, is_before);
    if (old != readings_.begin()) readings_.erase(readings_.begin(), std::prev(old));
    if (told_) told_(window);
  }

  TrialResult finish() {
    constexpr double kRounding = 1e-3;
    result_.longest_gap = std::max(result_.longest_gap, options_.seconds - std::max(heard_, 0.0));
    result_.expected = due_ / options_.seconds;
    result_.goodput =
        8 * (bytes_at(readings_, options_.seconds) - bytes_at_zero_) / options_.seconds;
    result_.links_take_turns =
        path_.narrowest(0, options_.seconds).goodput > result_.expected * (1 + kRounding);
    result_.player = player_.report();
    return std::move(result_);
  }

  SchedulePlayer& player_;
  const PathDelivery& path_;
  const TrialOptions& options_;
  const std::function<void(const TrialWindow&)>& told_;
  std::vector<Reading> readings_;
  double heard_ = 0;
  double bytes_at_zero_ = 0;
  double due_ = 0;  ///< expected bits of payload of all windows so far
  TrialResult result_;
};

}  // namespace

bool judges_goodput(bool disturbed, const ScheduleSpec& schedule, const TrialResult& result) {
  return !disturbed && !schedule.changes(Quantity::kDelay) && !schedule.changes(Quantity::kLoss) &&
         !result.links_take_turns;
}

void check_ends(const TrialOptions& options, int hosts) {
  for (const int host : {options.from, options.to})
    if (host < 0 || host >= hosts)
      throw InputError(fmt::format("host{}: the hosts are host0 to host{}", host, hosts - 1));
  if (options.from == options.to) throw InputError("a stream needs two different hosts");
}

TrialResult try_schedule(Network& network, const LinkSpec& link, const ScheduleSpec& schedule,
                         const TrialOptions& options,
                         const std::function<void(const TrialWindow&)>& told) {
  check_ends(options, network.size());
  SchedulePlayer player(network, network.plan(link), schedule, options.player);
  const PathDelivery path(player, network.routes().path(options.from, options.to));
  if (path.narrowest(0, options.seconds).goodput == 0)
    throw InputError(
        fmt::format("the path from host{} to host{} has no throttled link, or its rate is 0",
                    options.from, options.to));
  player.start(options.settle);
  const SocketPair stream = stream_pair(network, {options.from, options.to}, 0, kTrialTimeout);
  const std::jthread sender(send_until_stop, stream.sender.get());
  MachineWatch watch;
  TrialResult result = Trial(player, path, options, told).run(stream);
  result.machine = watch.stop();
  result.machine.repeated = repeated_share(stream.sender);
  player.stop();
  return result;
}

}  // namespace thinpipe
