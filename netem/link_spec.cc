// What follows from a link's settings: defaults, ceilings, and what the kernel must offer.
#include "netem/link_spec.h"

#include <algorithm>
#include <cmath>

namespace thinpipe {

namespace {

constexpr double kSmallestQueue = 262144;  // what one TCP sender keeps in flight below TSQ
constexpr double kLargestShortQueue = 16e6;
constexpr double kLargestQueue = 1e9;  // 32 bits in the kernel
constexpr double kQueueSeconds = 0.05;

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

void fill(Direction& direction, const LinkSpec& link) {
  if (direction.rate == 0) return;
  const double bytes_per_second = direction.rate / 8;
  const double round_trip_bytes = bytes_per_second * link.round_trip();
  const double least = link.frame_bytes();
  if (direction.burst == 0 && direction.shaper != Shaper::kNetem)
    direction.burst = default_burst(direction.rate, static_cast<int>(link.frame_bytes()));
  if (direction.queue == 0) {
    // 50 ms of the link or, on long ones, a round trip of it, which lets one TCP flow fill it.
    const double by_time =
        std::clamp(bytes_per_second * kQueueSeconds, kSmallestQueue, kLargestShortQueue);
    const double wanted = direction.queue_bdp > 0 ? direction.queue_bdp * round_trip_bytes
                                                  : std::max(by_time, round_trip_bytes);
    direction.queue = static_cast<std::uint32_t>(std::clamp(wanted, least, kLargestQueue));
  }
  direction.queue_bdp = 0;
}

double ceiling_of(const Direction& direction, const LinkSpec& link) {
  return direction.rate * link.payload_bytes() / (link.frame_bytes() + direction.overhead);
}

}  // namespace

double GilbertElliott::mean_loss() const {
  // Of the two-state chain: the share of frames that find it bad is p / (p + r).
  const double bad = to_bad + to_good > 0 ? to_bad / (to_bad + to_good) : 0;
  return bad * lost_in_bad + (1 - bad) * lost_in_good;
}

bool Impairment::disturbs() const {
  return loss.percent > 0 || bursts || reorder.percent > 0 || duplicate.percent > 0 ||
         corrupt.percent > 0 || jitter.count() > 0;
}

std::uint32_t default_burst(double rate, int frame_bytes) {
  constexpr double kMicros = 1000;
  const double bytes_per_us = rate / 8e6;
  const double micros = std::max(kMicros, std::ceil(2.0 * frame_bytes / bytes_per_us));
  return static_cast<std::uint32_t>(std::ceil(micros * bytes_per_us));
}

LinkSpec LinkSpec::with_defaults() const {
  LinkSpec filled = *this;
  fill(filled.up, *this);
  fill(filled.down, *this);
  return filled;
}

double LinkSpec::rate() const {
  if (up.rate == 0 || down.rate == 0) return std::max(up.rate, down.rate);
  return std::min(up.rate, down.rate);
}

double LinkSpec::delay() const { return seconds(up.way.delay + down.way.delay); }

double LinkSpec::tcp_ceiling() const {
  const double of_up = ceiling_of(up, *this), of_down = ceiling_of(down, *this);
  return up.rate == 0 || down.rate == 0 ? std::max(of_up, of_down) : std::min(of_up, of_down);
}

std::uint32_t LinkSpec::frame_bytes() const { return mtu + kEthernetHeader; }
std::uint32_t LinkSpec::payload_bytes() const { return mtu - kTcpHeaders; }

bool LinkSpec::needs_netem() const {
  return !up.way.none() || !down.way.none() || up.shaper == Shaper::kNetem ||
         down.shaper == Shaper::kNetem;
}

bool LinkSpec::needs_single_frames() const {
  return needs_netem() || up.overhead > 0 || down.overhead > 0;
}

}  // namespace thinpipe
