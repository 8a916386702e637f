#include "netem/schedule/delivery.h"

#include <algorithm>
#include <limits>

namespace thinpipe {

namespace {

constexpr double kBin = 1e-3;  // s

double finite(double value) { return value < std::numeric_limits<double>::infinity() ? value : 0; }

}  // namespace

PathDelivery::PathDelivery(const SchedulePlayer& player, std::vector<Hop> path)
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

double PathDelivery::payload_bits(std::size_t hop, double from, double to) const {
  return payload_shares_[hop] * player_.bits(path_[hop].link, path_[hop].up, from, to);
}

double PathDelivery::goodput(double from, double to) const {
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

PathDelivery::Narrowest PathDelivery::narrowest(double from, double to) const {
  Narrowest least{std::numeric_limits<double>::infinity(), 0};
  for (std::size_t hop = 0; hop < path_.size(); ++hop) {
    const double goodput = payload_bits(hop, from, to) / (to - from);
    if (goodput < least.goodput) least = {goodput, goodput / payload_shares_[hop]};
  }
  least.goodput = finite(least.goodput);
  return least;
}

LinkMean PathDelivery::mean(double from, double to) const {
  LinkMean all;
  double kept = 1;
  for (const Hop& hop : path_) {
    const LinkMean one = player_.mean(hop.link, from, to);
    if (hop == path_.front()) all.up_rate = hop.up ? one.up_rate : one.down_rate;
    if (hop == path_.back()) all.down_rate = hop.up ? one.up_rate : one.down_rate;
    // What happens to frames happens on a host's way down and on trunks, unless its way up has its
    // own, which does not change.
    const bool trunk = player_.planned().is_trunk(hop.link);
    if (hop.up && !trunk) {
      const Impairment& way = player_.planned().link(hop.link).up.way;
      all.delay += std::chrono::duration<double>(way.delay).count();
      kept *= 1 - (way.bursts ? way.bursts->mean_loss() : way.loss.percent) / 100;
    } else {
      all.delay += one.delay;
      kept *= 1 - one.loss;
    }
  }
  all.loss = 1 - kept;
  return all;
}

}  // namespace thinpipe
