#include "harness/sweep/expected_time.h"

#include "compressors/registry.h"

namespace thinpipe {

namespace {

// Expected seconds of one step: only for the bar, so a rough model is enough.
double expected_step_seconds(const SweepPoint& point, const Trace& trace,
                             const SweepOptions& options) {
  // Of rules, that of the most bits.
  double bits_per_element = 0, hops = 2;
  for (const Spec& spec : point.compressor.specs()) {
    const MethodInfo& method = find_method(spec.name);
    const double bits =
        method.expected_bits ? method.expected_bits(Parameters(method.parameters, spec)) : 32;
    if (bits <= bits_per_element) continue;
    bits_per_element = bits;
    hops = aggregation_of(spec) == Aggregation::kAllReduce ? 2 : point.ranks;
  }
  if (const double servers = point.servers(); servers > 0) hops = 2 * point.ranks / servers;
  return point.time_scale * trace.times(0, 0).compute() * options.compute_scale + 0.005 +
         point.time_scale * hops * bits_per_element * static_cast<double>(trace.elements()) /
             point.link.tcp_ceiling();
}

}  // namespace

double expected_seconds(const SweepPoint& point, const Trace& trace, const SweepOptions& options) {
  return 0.1 + static_cast<double>(options.warmup + options.steps) *
                   expected_step_seconds(point, trace, options);
}

}  // namespace thinpipe
