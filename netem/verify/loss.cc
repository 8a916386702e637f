#include "netem/verify/loss.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "netem/sandbox.h"
#include "netem/verify/expected.h"
#include "netem/verify/sockets.h"

namespace thinpipe {
namespace {

// Returns the continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22).
double continued_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kMaxSteps = 20000;
  double c = 1, d = 1 / std::max(kTiny, 1 - (a + b) * x / (a + 1)), result = d;
  for (int m = 1; m < kMaxSteps; ++m) {
    for (const double term : {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                              -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 + term * d;
      d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
      c = 1 + term / c;
      if (std::fabs(c) < kTiny) c = kTiny;
      result *= c * d;
    }
    if (std::fabs(c * d - 1) < 1e-15) break;
  }
  return result;
}

// Returns the regularized incomplete beta function I_x(a, b).
double beta_probability(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast on this side of the mean only.
  if (x < (a + 1) / (a + b + 2)) return front * continued_fraction(a, b, x) / a;
  return 1 - front * continued_fraction(b, a, 1 - x) / b;
}

double beta_quantile(double a, double b, double p) {
  double low = 0, high = 1;
  // Bisection: 60 halvings reach a double's resolution.
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (beta_probability(a, b, middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

constexpr double kMaxBehind = 16;  // most datagrams sent at once when this process is late

double spacing_of(const LinkSpec& link, const LossOptions& options) {
  const double frame =
      8 * (kLossPayload + kDatagramHeaders + std::max(link.up.overhead, link.down.overhead));
  const double by_rate = link.throttled() ? frame / (options.share * link.rate()) : 0;
  return std::max(by_rate, 1 / options.most_rate);
}

// Returns the time in s after which the last datagram must have arrived. It allows for the delay,
// four deviations of the jitter, the datagrams queued before the last one, and a late wake-up of
// this process.
double linger(const LinkSpec& link) {
  const auto jitter = link.up.impairment.jitter + link.down.impairment.jitter;
  return 0.25 + link.delay() + 4 * std::chrono::duration<double>(jitter).count() +
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
                         const LossOptions& options) {
  const double spacing = spacing_of(link, options);
  const auto wanted = static_cast<std::uint64_t>(
      std::max(std::ceil(options.seconds / spacing), static_cast<double>(options.fewest)));
  const SocketPair pair = datagram_pair(network, flow, 1);
  NumberedSender sender(pair.sender, kLossPayload, 1);
  NumberedReceiver receiver(pair.receiver, kLossPayload);
  const std::uint64_t drops_before = receive_buffer_drops(network, flow.to);
  std::vector<NumberedArrival> arrivals;
  arrivals.reserve(wanted);
  double next = wall_clock();
  const double timeout = linger(link);
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
