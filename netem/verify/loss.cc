#include "netem/verify/loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <boost/math/special_functions/beta.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "netem/sandbox.h"
#include "netem/verify/expected.h"
#include "netem/verify/sockets.h"

namespace thinpipe {
namespace {

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
