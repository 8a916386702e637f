#include "harness/predict/network_model.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/statistics.h"
#include "harness/launch/launch.h"
#include "netem/file_descriptor.h"

namespace thinpipe {
namespace {

constexpr double kAcknowledgementBytes = 66;  // Ethernet, IPv4, TCP with timestamps
constexpr double kFramesAcknowledged = 2;     // by one acknowledgement (RFC 1122, 4.2.3.2)
constexpr double kGsoPacket = 68130;          // bytes of the kernel's largest packet

double slower(const Direction& up, const Direction& down) {
  if (up.rate == 0) return down.rate;
  if (down.rate == 0) return up.rate;
  return std::min(up.rate, down.rate);
}

// Returns the credit of a direction's token bucket, in bytes of payload.
double saved(const Direction& direction, const LinkSpec& link) {
  if (direction.rate == 0) return std::numeric_limits<double>::infinity();
  if (direction.shaper == Shaper::kNetem) return 0;
  return static_cast<double>(direction.burst) * link.payload_bytes() / link.frame_bytes();
}

double beta_of(double goodput, const LinkSpec& link, const MachineFigures& machine) {
  return goodput > 0 ? 8 / goodput * (1 + acknowledgement_share(link)) * machine.slower : 0;
}

double finite(double credit) { return credit < std::numeric_limits<double>::max() ? credit : 0; }

constexpr double kProbeSeconds = 0.05;  // of the links' time
constexpr double kCredits = 4;          // times the buckets' credit that an exchange sends
constexpr double kMinMessage = 4096, kMaxMessage = 32e6;  // bytes
constexpr double kProbeTimeout = 60;                      // s in addition to the links' time

enum class Which { kShortest, kLongest };

// Returns for each exchange the time of one rank, sorted. `which` selects the shortest time, of the
// rank that entered the exchange last, or the longest, of the rank that entered first.
std::vector<double> of_ranks(const std::vector<std::vector<double>>& times, Which which) {
  std::vector<double> found;
  for (std::size_t i = 0; i < times.at(0).size(); ++i) {
    double one = times[0][i];
    for (const std::vector<double>& rank : times)
      one = which == Which::kShortest ? std::min(one, rank.at(i)) : std::max(one, rank.at(i));
    found.push_back(one);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Returns the beta with which the model predicts `seconds`. A greater beta gives a longer time.
double beta_for(double seconds, int ranks, double bytes, LinkFigures link) {
  double low = link.beta / 100, high = link.beta * 100;
  for (int i = 0; i < 60; ++i) {
    link.beta = std::sqrt(low * high);
    (ring_all_gather_time(ranks, bytes, link) < seconds ? low : high) = link.beta;
  }
  return std::sqrt(low * high);
}

constexpr int kRoundTrips = 200;
using LoopbackMessage = std::array<char, 8>;

// Returns a new socket that sends every message at once.
FileDescriptor prompt_socket(int descriptor, const char* attempt) {
  if (descriptor < 0) throw SystemError(attempt);
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return FileDescriptor(descriptor);
}

FileDescriptor tcp_socket() {
  return prompt_socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
}

bool send_message(const FileDescriptor& socket) {
  const LoopbackMessage message = {};
  return ::send(socket.get(), message.data(), message.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(message.size());
}

bool receive_message(const FileDescriptor& socket) {
  LoopbackMessage message;
  return ::recv(socket.get(), message.data(), message.size(), MSG_WAITALL) ==
         static_cast<ssize_t>(message.size());
}

// Returns every message to its sender until the peer closes the connection.
void echo(const FileDescriptor& socket) {
  while (receive_message(socket) && send_message(socket)) {
  }
}

}  // namespace

double acknowledgement_share(const LinkSpec& link) {
  const LinkSpec filled = link.with_defaults();
  const double burst = std::min(filled.up.rate > 0 ? filled.up.burst : filled.down.burst,
                                filled.down.rate > 0 ? filled.down.burst : filled.up.burst);
  const bool single = link.needs_single_frames() || burst < kGsoPacket;
  return single ? kAcknowledgementBytes / (kFramesAcknowledged * link.frame_bytes()) : 0;
}

LinkFigures star_figures(const LinkSpec& link, const MachineFigures& machine) {
  const LinkSpec filled = link.with_defaults();
  const double rate = slower(filled.up, filled.down);
  const double credit = std::min(saved(filled.up, link), saved(filled.down, link));
  return {.alpha = link.delay() + machine.message_time,
          .beta = rate > 0 ? beta_of(link.tcp_ceiling(), link, machine) : 0,
          .credit = finite(credit)};
}

LinkFigures direction_figures(const LinkSpec& link, bool up) {
  const LinkSpec filled = link.with_defaults();
  const Direction& direction = up ? filled.up : filled.down;
  const double goodput = direction.rate * link.payload_bytes() /
                         static_cast<double>(link.frame_bytes() + direction.overhead);
  return {.alpha = in_seconds(direction.impairment.delay),
          .beta = beta_of(goodput, link, {}),
          .credit = finite(saved(direction, link))};
}

LinkFigures network_figures(const Topology& topology, const std::vector<Flow>& flows,
                            const MachineFigures& machine) {
  const Routes routes(topology);
  std::vector<std::vector<Hop>> paths;
  LinkFigures figures;
  double credit = std::numeric_limits<double>::infinity();
  for (const Flow& flow : flows) {
    paths.push_back(routes.path(flow.from, flow.to));
    figures.alpha += figures_of(topology, paths.back()).delay / static_cast<double>(flows.size());
  }
  figures.alpha += machine.message_time;
  const std::vector<double> goodputs = fair_goodputs(topology, paths);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (goodputs[i] <= 0) continue;
    const LinkSpec& narrowest = topology.link(figures_of(topology, paths[i]).narrowest);
    figures.beta = std::max(figures.beta, beta_of(goodputs[i], narrowest, machine));
    for (const Hop& hop : paths[i]) {
      const LinkSpec link = topology.link(hop.link).with_defaults();
      credit = std::min(credit, saved(hop.up ? link.up : link.down, link));
    }
  }
  figures.credit = finite(credit);
  return figures;
}

std::vector<Flow> ring_flows(int ranks) {
  std::vector<Flow> flows;
  if (ranks < 2) return flows;
  for (int i = 0; i < ranks; ++i) flows.push_back({i, (i + 1) % ranks});
  return flows;
}

LinkFigures ring_figures(const TopologySpec& topology, const LinkSpec& link, int ranks,
                         const MachineFigures& machine) {
  if (topology.is_star()) return star_figures(link, machine);
  return network_figures(topology.plan(ranks, link), ring_flows(ranks), machine);
}

std::size_t probe_bytes(const LinkFigures& expected, int ranks) {
  const double all = kCredits * expected.credit +
                     (expected.beta > 0 ? kProbeSeconds / expected.beta : kMaxMessage);
  return static_cast<std::size_t>(
      std::clamp(all / std::max(1, ranks - 1), kMinMessage, kMaxMessage));
}

MachineFigures machine_figures(const std::vector<std::vector<double>>& small,
                               const std::vector<std::vector<double>>& large, std::size_t bytes,
                               const LinkFigures& expected) {
  const int ranks = static_cast<int>(small.size());
  MachineFigures machine;
  if (ranks < 2) return machine;
  LinkFigures link = expected;
  const std::vector<double> messages = of_ranks(small, Which::kShortest);
  // Other programs on the machine make messages slower, never faster, so the first quartile counts.
  link.alpha = messages.at(messages.size() / 4) / (2 * (ranks - 1));
  machine.message_time = std::max(0.0, link.alpha - expected.alpha);
  if (expected.beta > 0)
    machine.slower =
        beta_for(of_ranks(large, Which::kLongest).at(0), ranks, static_cast<double>(bytes), link) /
        expected.beta;
  return machine;
}

MachineFigures probe_links(Launch& launch, const LinkFigures& expected) {
  const std::size_t bytes = probe_bytes(expected, launch.ranks());
  const double timeout =
      kProbeTimeout +
      100 * launch.ranks() * (expected.alpha + static_cast<double>(bytes) * expected.beta);
  // The token buckets refill at the links' rate.
  const double pause = 2e-3 + 1.5 * expected.credit * expected.beta;
  std::vector<std::vector<double>> small, large;
  for (const nlohmann::json& answer :
       launch.ask({{"do", "probe"}, {"bytes", bytes}, {"pause", pause}}, timeout)) {
    small.push_back(answer.at("small"));
    large.push_back(answer.at("large"));
  }
  return machine_figures(small, large, bytes, expected);
}

double loopback_message_time() {
  const FileDescriptor door = tcp_socket();
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(door.get(), generic, length) < 0) throw SystemError("bind 127.0.0.1");
  if (listen(door.get(), 1) < 0) throw SystemError("listen on 127.0.0.1");
  if (getsockname(door.get(), generic, &length) < 0) throw SystemError("getsockname");
  const FileDescriptor near = tcp_socket();
  if (connect(near.get(), generic, length) < 0) throw SystemError("connect to 127.0.0.1");
  const FileDescriptor far =
      prompt_socket(accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept on 127.0.0.1");
  std::thread other([&far] { echo(far); });
  std::vector<double> times;
  bool ok = true;
  for (int i = 0; i < kRoundTrips && ok; ++i) {
    const double begin = now_seconds();
    ok = send_message(near) && receive_message(near);
    times.push_back(now_seconds() - begin);
  }
  shutdown(near.get(), SHUT_RDWR);
  other.join();
  if (!ok) throw RunError("a message over the loopback interface did not come back");
  return median(times) / 2;
}

}  // namespace thinpipe
