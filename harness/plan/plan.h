// Plan of a run: the axes of its sweep, the settings of each point, and the expected times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/hosts/hosts.h"
#include "harness/machine/machine.h"
#include "netem/link/link_spec.h"
#include "netem/schedule/schedule.h"
#include "netem/topology/spec.h"
#include "netem/topology/topology.h"
#include "workloads/replay/bucketing.h"
#include "workloads/replay/stragglers.h"

namespace thinpipe {

class Trace;

/// Stands for a time scale that the run chooses for each link and number of ranks
/// (harness/sweep/time_scaling.h).
inline constexpr double kAutoTimeScale = 0;

struct SweepOptions {
  std::filesystem::path trace;
  std::filesystem::path out;
  std::vector<CompressorRules> compressors;
  /// Compressors are compared with these: `none`, `bf16`, or both, `none` first.
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
  std::uint64_t check_every = 1;  ///< steps from one check of the aggregate to the next; 0: never
  std::uint64_t seed = 1;         ///< of the order of the points and of sampling compressors
  double compute_scale = 1;       ///< times the captured compute time
  bool compute_works = false;     ///< compute phases use CPU time in place of waiting
  bool simulated = false;         ///< by SimGrid, without emulated hosts
  /// With `simulated`: s of an empty message beyond the links' delays; measured on this machine if
  /// not set.
  std::optional<double> message_time;
  double cores = 0;  ///< with `simulated`: that all ranks share; 0: every rank has its own machine
  std::vector<double> time_scales = {1};  ///< docs/time-scaling.md; may hold kAutoTimeScale
  bool zero_non_finite = false;
  std::vector<Spec> collectives = {
      {.name = "ring", .values = {}}};       ///< each for every compressor it serves
  std::vector<Bucketing> bucketings = {{}};  ///< buckets of gradients, and when they are exchanged
  int threads = 1;                           ///< of each rank's encode and decode
  std::string simd = "best";  ///< instruction set of the ranks' kernels (simd.h); `best` is each
                              ///< machine's own
  std::string device = kDeviceCpu;    ///< device of gradients and compressors: cpu or cuda
  std::optional<HostsOptions> hosts;  ///< real machines; else emulated hosts
  double timeout = 30;                ///< `more` of step_timeout(), in s
  bool share_machine = false;         ///< points beside other runs on this machine stay valid
  bool resume = false;
  int shard = 1, shards = 1;         ///< this run measures shard `shard` of `shards` (in_shard())
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
  bool chooses_scale = false;  ///< kAutoTimeScale was requested
  Spec collective = {.name = "ring", .values = {}};
  Bucketing bucketing;
  Stragglers stragglers;
  /// Returns the number of the collective's servers, which run on the hosts after the workers'.
  int servers() const;
  int hosts() const { return ranks + servers(); }
  /// Returns `rate=100mbit`, with the schedule if any: `rate=100mbit,schedule=outage:...`.
  std::string link_text() const;
  /// Returns the point's name in records, which is independent of the order of the sweep.
  std::string id(const SweepOptions& options) const;
  /// Returns the id with the normal forms of its specs (Parameters::normal()), which are equal for
  /// `topk` and `topk:ratio=0.01`. @throws InputError as check_spec and check_collective
  std::string normal_id(const SweepOptions& options) const;
  /// Returns whether the ids of records (Records::finished_ids()) have the point.
  bool is_in(const std::set<std::string>& ids, const SweepOptions& options) const;
};

/// Returns the collective without parameters by which servers or owners of slices compress their
/// answers by a method of their own, as it exchanges baselines.
Spec with_plain_answers(Spec collective);

/// Returns the sweep's collectives that can exchange the compressor's payloads, for a baseline with
/// plain answers. Returns `ring` for a baseline that none of them can exchange, so that every sweep
/// has a baseline.
std::vector<Spec> collectives_for(const CompressorRules& compressor, const SweepOptions& options);
/// Returns true if the collective can exchange the payloads of all the rules' compressors.
bool serves_all(const Spec& collective, const CompressorRules& compressor);
/// Returns the operation on payloads, "allgather" or "allreduce" for instance; "mixed" where the
/// rules' operations differ.
std::string exchange_name(const Spec& collective, const CompressorRules& compressor);

/// Returns true if the point belongs to shard `shard` of `shards`, counted from 1. A hash of the id
/// (64 bits of FNV-1a, mixed) decides, so that every machine agrees, whatever else is in the sweep.
/// @param id  SweepPoint::normal_id()
bool in_shard(const std::string& id, int shard, int shards);

/// Limits the number of points, because the alternatives of all axes multiply. Call it before a
/// point is added to `points` others.
/// @throws InputError when `points` is 100,000 or more.
void check_point_limit(std::size_t points);

/// Returns the numbers of hosts that the points need, each once, in ascending order.
std::vector<int> host_counts(const SweepOptions& options);

/// Returns all points, grouped by Launch (harness/launch/launch.h), which is one start of the rank
/// processes. Each pair of a number of ranks and a number of servers has its own Launch. Numbers of
/// ranks keep their order. The points of one Launch are in random order, so that slow drifts of the
/// machine spread over all of them.
std::vector<SweepPoint> plan_sweep(const SweepOptions& options);

/// Returns the points that decide on the time scale of `points`, for each link, number of ranks and
/// number of hosts one point: with kAutoTimeScale, all points of the sweep with one link and one
/// number of ranks have one factor. The points are of all shards, so that all shards have the same
/// factors.
std::vector<SweepPoint> scale_deciders(const SweepOptions& options,
                                       const std::vector<SweepPoint>& points);

/// Returns the link for people: "100 Mbit/s", or the whole specification of a link with more keys.
std::string link_line(const LinkSpec& link);

/// Returns the approximate duration of the point in s, including its start, for the progress bar.
double expected_seconds(const SweepPoint& point, const Trace& trace, const SweepOptions& options);

/// Returns the bits of all ranks' uncompressed gradients in one step.
double dense_bits(const SweepPoint& point, const Trace& trace);

/// Returns the time in s after which a step counts as stuck: ten times the sum of the compute time
/// and the time of a dense exchange on these links, plus `more` for codecs and an overloaded
/// machine. Time dilation above 1 multiplies `more`, because it lengthens codecs too.
/// @param topology  as set, with time dilation
double step_timeout(const SweepPoint& point, const Topology& topology, const Trace& trace,
                    double compute_scale, double more);

}  // namespace thinpipe
