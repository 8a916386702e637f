#include "netem/topology/layout.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace thinpipe {

namespace {

// All in pixels of the drawing's own coordinates.
constexpr double kSlot = 74;         // of the circle, for one host
constexpr double kStarRadius = 150;  // of the hosts around a single switch, at least
constexpr double kRadius = 235;      // of the hosts around several
constexpr double kInner = 0.5;       // switches' circle over hosts' circle
constexpr double kWidestStep = 0.5;  // rad between hosts of a switch that is one of several
constexpr double kCircle = 2 * std::numbers::pi;
constexpr double kTop = -std::numbers::pi / 2;

std::size_t place(int index) { return static_cast<std::size_t>(index); }

Spot on_circle(double radius, double angle) {
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

Layout place_star(const Topology& topology) {
  Layout layout;
  layout.switches.resize(1);
  const double hosts = static_cast<double>(topology.hosts.size());
  const double radius = std::max(kStarRadius, hosts * kSlot / kCircle);
  for (int i = 0; i < static_cast<int>(hosts); ++i)
    layout.hosts.push_back(on_circle(radius, kTop + i * kCircle / hosts));
  return layout;
}

// Every switch with hosts has a part of the circle as wide as they need, and half a host's width
// free on each side. The first part is at the top, or at the left when there are two.
void place_on_circle(const Topology& topology, const std::vector<int>& with_hosts, Layout& layout) {
  const double slots = static_cast<double>(topology.hosts.size() + with_hosts.size());
  const double slot = kCircle / slots, step = std::min(slot, kWidestStep);
  const double radius = std::max(kRadius, slots * kSlot / kCircle);
  double angle = with_hosts.size() == 2 ? std::numbers::pi : kTop;
  angle -= (topology.hosts_at(with_hosts[0]) + 1) * slot / 2;
  for (const int index : with_hosts) {
    const int count = topology.hosts_at(index);
    const double middle = angle + (count + 1) * slot / 2;
    layout.switches[place(index)] = on_circle(radius * kInner, middle);
    double placed = 0;
    for (std::size_t i = 0; i < topology.hosts.size(); ++i)
      if (topology.hosts[i].at == index)
        layout.hosts[i] = on_circle(radius, middle + (placed++ - (count - 1) / 2.0) * step);
    angle += (count + 1) * slot;
  }
}

Spot amid_neighbours(const Topology& topology, int index, const Layout& layout) {
  Spot sum;
  double neighbours = 0;
  for (const Trunk& trunk : topology.trunks) {
    if (trunk.a != index && trunk.b != index) continue;
    const Spot& other = layout.switches[place(trunk.a == index ? trunk.b : trunk.a)];
    sum = {sum.x + other.x, sum.y + other.y};
    ++neighbours;
  }
  return neighbours == 0 ? sum : Spot{sum.x / neighbours, sum.y / neighbours};
}

void part_overlapping(std::vector<Spot>& spots) {
  for (std::size_t i = 0; i < spots.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (std::hypot(spots[i].x - spots[j].x, spots[i].y - spots[j].y) < kSwitchHeight)
        spots[i].y += 1.6 * kSwitchHeight;
}

}  // namespace

Layout lay_out(const Topology& topology) {
  if (topology.switches.size() == 1) return place_star(topology);
  Layout layout;
  layout.hosts.resize(topology.hosts.size());
  layout.switches.resize(topology.switches.size());
  std::vector<int> with_hosts, without;
  for (int i = 0; i < static_cast<int>(topology.switches.size()); ++i)
    (topology.hosts_at(i) > 0 ? with_hosts : without).push_back(i);
  if (!with_hosts.empty()) place_on_circle(topology, with_hosts, layout);
  constexpr int kRounds = 30;  // where neighbours have no hosts either, it settles by and by
  for (int round = 0; round < kRounds; ++round)
    for (const int index : without)
      layout.switches[place(index)] = amid_neighbours(topology, index, layout);
  part_overlapping(layout.switches);
  return layout;
}

}  // namespace thinpipe
