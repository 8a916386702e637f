#include "harness/sweep/patience.h"

#include <algorithm>

#include "netem/topology/flows.h"

namespace thinpipe {

double dense_bits(const SweepPoint& point, const Trace& trace) {
  return 8.0 * sizeof(float) * static_cast<double>(trace.elements()) * point.ranks;
}

double step_patience(const SweepPoint& point, const Topology& topology, const Trace& trace,
                     double compute_scale, double more) {
  double longest_compute = 0;
  for (std::size_t rank = 0; rank < trace.ranks(); ++rank)
    for (std::size_t step = 0; step < trace.steps(); ++step)
      longest_compute = std::max(longest_compute, trace.times(rank, step).compute());
  const double bits = dense_bits(point, trace);
  // Rings and rendezvous wait for a round trip a few times for each rank and each 64 kB segment in
  // flight; where frames are lost, TCP takes longer than any model says.
  const double waits = 20.0 * point.ranks * longest_round_trip(topology);
  const double trouble = disturbs(topology) ? 10 : 1;
  const double goodput = exchange_goodput(topology);
  const double exchange = goodput > 0 ? bits / goodput : 0;
  const double compute =
      point.time_scale * point.stragglers.longest(longest_compute * compute_scale);
  return more + 10 * trouble * (exchange + waits + compute);
}

}  // namespace thinpipe
