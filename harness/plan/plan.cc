#include "harness/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/splitmix64.h"
#include "base/text.h"
#include "base/units.h"
#include "compressors/registry.h"
#include "netem/topology/flows.h"
#include "workloads/collectives/collectives.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

// Returns each number of parameter servers that a collective of the sweep has, in the order of the
// collectives. The ring counts too where a baseline falls back on it.
std::vector<int> server_counts(const SweepOptions& options) {
  std::vector<int> counts;
  for (const CompressorRules& compressor : options.compressors)
    for (const Spec& collective : collectives_for(compressor, options))
      add_once(counts, servers_of(collective));
  if (counts.empty()) counts.push_back(0);  // check_collectives() throws with the reason
  return counts;
}

// Returns the expected seconds of one step by a rough model, for the progress bar only.
double expected_step_seconds(const SweepPoint& point, const Trace& trace,
                             const SweepOptions& options) {
  // The rule with the most bits counts.
  double bits_per_element = 0, hops = 2;
  for (const Spec& spec : point.compressor.specs()) {
    const double bits = expected_bits(spec).value_or(32);
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

bool SweepOptions::is_baseline(const CompressorRules& compressor) const {
  return std::ranges::find(baselines, compressor) != baselines.end();
}

std::string SweepPoint::link_text() const {
  return link.to_string() + (schedule.empty() ? "" : ",schedule=" + schedule.to_string());
}

std::string SweepPoint::normal_id(const SweepOptions& options) const {
  SweepPoint normal = *this;
  normal.compressor = compressor.normal();
  normal.collective = collective_parameters(collective).normal();
  return normal.id(options);
}

bool SweepPoint::is_in(const std::set<std::string>& ids, const SweepOptions& options) const {
  return ids.contains(id(options)) || ids.contains(normal_id(options));
}

std::string SweepPoint::id(const SweepOptions& options) const {
  const std::string network = options.topology.is_star() ? "" : "|" + options.topology.to_string();
  const std::string where =
      !options.hosts ? ""
                     : "|hosts" + (options.hosts->shape.empty() ? "" : ":" + options.hosts->shape);
  return fmt::format(
             "{}|{}|{}|{}|s{}+{}|c{}|r{}{}", compressor.to_string(),
             link.to_string() + (schedule.empty() ? "" : ",schedule=" + schedule.identity()), ranks,
             collective.to_string(), options.warmup, options.steps, options.compute_scale, repeat,
             network + where) +
         (chooses_scale     ? "|auto"
          : time_scale == 1 ? ""
                            : fmt::format("|x{}", time_scale)) +
         (options.device == kDeviceCpu ? "" : "|" + options.device) +
         (options.compute_works ? "|work" : "") + (options.simulated ? "|simgrid" : "") +
         (bucketing.is_default() ? "" : "|" + bucketing.to_string()) +
         (stragglers.empty() ? "" : "|straggler:" + stragglers.to_string());
}

bool serves_all(const Spec& collective, const CompressorRules& compressor) {
  return std::ranges::all_of(compressor.specs(),
                             [&](const Spec& spec) { return serves(collective, spec); });
}

std::string exchange_name(const Spec& collective, const CompressorRules& compressor) {
  std::string name;
  for (const Spec& spec : compressor.specs()) {
    const std::string one = to_string(exchange_of(collective, spec));
    if (!name.empty() && name != one) return "mixed";
    name = one;
  }
  return name;
}

Spec with_plain_answers(Spec collective) {
  for (const char* key : {"pull", "second", "second-memory"}) collective.values.erase(key);
  return collective;
}

std::vector<Spec> collectives_for(const CompressorRules& compressor, const SweepOptions& options) {
  const bool is_baseline = options.is_baseline(compressor);
  std::vector<Spec> able;
  std::set<std::string> normal;  // forms of `able`, so that no two points have the same meaning
  for (const Spec& given : options.collectives) {
    if (!serves_all(given, compressor)) continue;
    const Spec collective = is_baseline ? with_plain_answers(given) : given;
    if (normal.insert(collective_parameters(collective).normal().to_string()).second)
      able.push_back(collective);
  }
  if (able.empty() && is_baseline) able.push_back({.name = "ring", .values = {}});
  return able;
}

int SweepPoint::servers() const { return servers_of(collective); }

void check_point_limit(std::size_t points) {
  constexpr std::size_t kMaxPoints = 100'000;  // a run of a day at a second each; 2 kB each
  if (points >= kMaxPoints)
    throw InputError(
        fmt::format("more than {} points; give fewer alternatives to the options", kMaxPoints));
}

bool in_shard(const std::string& id, int shard, int shards) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  // FNV-1a alone is not enough. The lowest bit of its hash is the parity of the characters' lowest
  // bits, and ids have this parity in common.
  return SplitMix64::mix(hash) % static_cast<std::uint64_t>(shards) ==
         static_cast<std::uint64_t>(shard - 1);
}

std::vector<int> host_counts(const SweepOptions& options) {
  std::set<int> counts;
  const std::vector<int> servers = server_counts(options);
  for (const int ranks : options.ranks)
    for (const int beside : servers) counts.insert(ranks + beside);
  return {counts.begin(), counts.end()};
}

std::vector<SweepPoint> plan_sweep(const SweepOptions& options) {
  std::vector<SweepPoint> points;
  std::mt19937_64 generator(options.seed);
  const std::vector<int> servers = server_counts(options);
  for (const int ranks : options.ranks)
    for (const int beside : servers) {
      const auto first = static_cast<std::ptrdiff_t>(points.size());
      for (int repeat = 0; repeat < options.repeats; ++repeat)
        for (const LinkSpec& link : options.links)
          for (const ScheduleSpec& schedule : options.schedules)
            for (const Stragglers& stragglers : options.stragglers)
              for (const CompressorRules& compressor : options.compressors)
                for (const Spec& collective : collectives_for(compressor, options))
                  for (const Bucketing& bucketing : options.bucketings)
                    for (const double time_scale : options.time_scales)
                      if (servers_of(collective) == beside) {
                        check_point_limit(points.size());
                        points.push_back({compressor, link, ranks, repeat, schedule,
                                          time_scale == kAutoTimeScale ? 1 : time_scale,
                                          time_scale == kAutoTimeScale, collective, bucketing,
                                          stragglers});
                      }
      std::shuffle(points.begin() + first, points.end(), generator);
    }
  return points;
}

std::vector<SweepPoint> scale_deciders(const SweepOptions& options,
                                       const std::vector<SweepPoint>& points) {
  std::set<std::pair<std::string, int>> wanted;
  for (const SweepPoint& point : points)
    if (point.chooses_scale) wanted.emplace(point.link_text(), point.ranks);
  std::vector<SweepPoint> deciders;
  if (wanted.empty()) return deciders;
  std::set<std::tuple<std::string, int, int>> known;
  for (SweepPoint& point : plan_sweep(options))
    if (point.chooses_scale && wanted.contains({point.link_text(), point.ranks}) &&
        known.emplace(point.link_text(), point.ranks, point.hosts()).second)
      deciders.push_back(std::move(point));
  return deciders;
}

std::string link_line(const LinkSpec& link) {
  LinkSpec plain;
  plain.up.rate = plain.down.rate = link.rate();
  return link == plain ? format_rate(link.rate()) : link.to_string();
}

double expected_seconds(const SweepPoint& point, const Trace& trace, const SweepOptions& options) {
  return 0.1 + static_cast<double>(options.warmup + options.steps) *
                   expected_step_seconds(point, trace, options);
}

double dense_bits(const SweepPoint& point, const Trace& trace) {
  return 8.0 * sizeof(float) * static_cast<double>(trace.elements()) * point.ranks;
}

double step_timeout(const SweepPoint& point, const Topology& topology, const Trace& trace,
                    double compute_scale, double more) {
  double longest_compute = 0;
  for (std::size_t rank = 0; rank < trace.ranks(); ++rank)
    for (std::size_t step = 0; step < trace.steps(); ++step)
      longest_compute = std::max(longest_compute, trace.times(rank, step).compute());
  const double bits = dense_bits(point, trace);
  // Rings and MPI's rendezvous protocol wait for a few round trips for each rank and for each 64 kB
  // segment in flight. Where frames are lost, TCP takes longer than any model predicts.
  const double waits = 20.0 * point.ranks * longest_round_trip(topology);
  const double trouble = disturbs(topology) ? 10 : 1;
  const double goodput = exchange_goodput(topology);
  const double exchange = goodput > 0 ? bits / goodput : 0;
  // A delayed fragment's exchange overlaps several steps' compute, which one step passes.
  const double computed =
      static_cast<double>(std::max<std::uint64_t>(1, point.bucketing.fragment_delay));
  const double compute =
      point.time_scale * computed * point.stragglers.longest(longest_compute * compute_scale);
  return more * std::max(1.0, point.time_scale) + 10 * trouble * (exchange + waits + compute);
}

}  // namespace thinpipe
