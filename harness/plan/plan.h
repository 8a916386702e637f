// Plan of a run: the axes of its sweep, how each point is taken, and how long that takes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/hosts/hosts.h"
#include "harness/machine/machine.h"
#include "netem/link/link_spec.h"
#include "netem/schedule/schedule.h"
#include "netem/topology/spec.h"
#include "netem/topology/topology.h"
#include "workloads/replay/feed.h"
#include "workloads/replay/stragglers.h"

namespace thinpipe {

class Trace;

/// Among time scales: to be chosen for each link and number of ranks
/// (harness/sweep/time_scaling.h).
inline constexpr double kAutoTimeScale = 0;

struct SweepOptions {
  std::filesystem::path trace;
  std::filesystem::path out;
  std::vector<CompressorRules> compressors;
  /// Compressors are held against these: `none`, `bf16`, or both, `none` first.
  std::vector<CompressorRules> baselines = {kUncompressed};
  bool is_baseline(const CompressorRules& compressor) const;
  std::vector<std::filesystem::path> plugins;  ///< absolute; every rank loads them
  std::vector<LinkSpec> links;
  std::vector<ScheduleSpec> schedules = {{}};  ///< each on each link; empty: nothing changes
  std::vector<Stragglers> stragglers = {{}};   ///< each in each network
  TopologySpec topology;
  std::vector<int> ranks;
  int repeats = 1;
  std::uint64_t warmup = 2;       ///< steps before the measured ones: memories fill, windows open
  std::uint64_t steps = 8;        ///< measured
  std::uint64_t check_every = 1;  ///< the aggregate is checked in every so many steps; 0: never
  std::uint64_t seed = 1;         ///< of the order of the points and of sampling compressors
  double compute_scale = 1;       ///< times the captured compute time
  std::vector<double> time_scales = {1};  ///< docs/time-scaling.md; may hold kAutoTimeScale
  bool zero_non_finite = false;
  std::vector<Spec> patterns = {
      {.name = "ring", .values = {}}};  ///< each for every compressor it serves
  std::vector<Feed> feeds = {{}};       ///< how gradients go to compressors and when they leave
  int threads = 1;                      ///< that each rank's encode and decode may use
  std::string simd = "best";  ///< instruction set of the ranks' kernels (simd.h); the best is each
                              ///< machine's own
  std::string device = kDeviceCpu;    ///< where gradients lie and compressors run: cpu or cuda
  std::optional<HostsOptions> hosts;  ///< real machines; else emulated hosts
  double patience = 30;        ///< s that a step may take beyond ten times what it should at most
  bool share_machine = false;  ///< other runs on this machine at the same time cast no doubt
  bool resume = false;
  int shard = 1, shards = 1;         ///< this run measures part `shard` of so many; see in_shard()
  std::vector<std::string> command;  ///< argv, for the records
};

/// One point of the sweep.
struct SweepPoint {
  CompressorRules compressor = kUncompressed;
  LinkSpec link;
  int ranks = 0;
  int repeat = 0;
  ScheduleSpec schedule;
  double time_scale = 1;       ///< 1 until it is chosen
  bool chooses_scale = false;  ///< kAutoTimeScale was asked for
  Spec pattern = {.name = "ring", .values = {}};
  Feed feed;
  Stragglers stragglers;
  /// Ranks are the workers; the pattern's servers come beside them, on the hosts after theirs.
  int servers() const;
  int hosts() const { return ranks + servers(); }
  /// `rate=100mbit`, and its schedule if it has one: `rate=100mbit,schedule=outage:...`.
  std::string link_text() const;
  /// Names the point in records: what is measured, and nothing of how the sweep was ordered.
  std::string id(const SweepOptions& options) const;
};

/// Those of the sweep's patterns that can exchange what the compressor sends. Where none of them
/// can carry a baseline, `ring` does: every sweep has something to be held against.
std::vector<Spec> patterns_for(const CompressorRules& compressor, const SweepOptions& options);
/// Whether the pattern can exchange what each of the rules' compressors sends.
bool serves_all(const Spec& pattern, const CompressorRules& compressor);
/// "allgather", "allreduce": the operation by which payloads meet; "mixed" where rules' differ.
std::string exchange_name(const Spec& pattern, const CompressorRules& compressor);

/// Whether the point falls to part `shard` of `shards`, from 1 on: by a hash of its id (64
/// bits of FNV-1a, mixed), so that every machine deals them out alike whatever else is in the
/// sweep.
bool in_shard(const std::string& id, int shard, int shards);

/// Alternatives of all axes multiply, without end: called before a point joins so many.
/// @throws InputError when there are 100,000.
void check_room_for_point(std::size_t points);

/// How many hosts launches of the sweep have, each number once, the least first.
std::vector<int> host_counts(const SweepOptions& options);

/// All points, the ranks in the order given (each count, and each number of servers beside it, is a
/// launch of its own), the points of one launch in random order, so that slow drifts of the machine
/// spread over all of them.
std::vector<SweepPoint> plan_sweep(const SweepOptions& options);

/// For people: "100 Mbit/s", or the whole of the link where there is more to say.
std::string link_line(const LinkSpec& link);

/// About how long the point will take in s, with its start: for the progress bar.
double expected_seconds(const SweepPoint& point, const Trace& trace, const SweepOptions& options);

/// Bits of all ranks' uncompressed gradients in one step.
double dense_bits(const SweepPoint& point, const Trace& trace);

/// How long a step may take before it counts as stuck: ten times what a dense exchange takes on
/// these links, and `more` for a machine in trouble, in s.
double step_patience(const SweepPoint& point, const Topology& topology, const Trace& trace,
                     double compute_scale, double more);

}  // namespace thinpipe
