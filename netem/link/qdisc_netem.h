// netem: delay, loss and the other impairments, and a rate without a bucket. Also the distribution
// tables of delays, and the effect of netem's correlations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "netem/link/link_spec.h"
#include "netem/link/qdisc.h"

namespace thinpipe {

/// The unit of a distribution table: 8192 is one standard deviation (jitter).
inline constexpr int kDistributionScale = 8192;
/// Most entries of a table (the kernel's NETEM_DIST_MAX).
inline constexpr std::size_t kDistributionMost = 16384;

/// Returns a table of 4096 delays of equal probability. kUniform ranges from -1 to 1 jitter, as
/// netem draws delays without a table. The other distributions have mean 0 and standard deviation 1
/// jitter, and are cut at 4 jitter (the range of 16 bits). They are normal, Pareto with shape 3,
/// and tc's paretonormal, which combines a quarter normal and three quarters Pareto. tc's own
/// pareto.dist and paretonormal.dist have standard deviations of 0.82 and 0.83 jitter; table:FILE
/// selects these files.
std::vector<std::int16_t> distribution_table(DelayDistribution distribution);

/// Reads a table in the format of tc's .dist files: whole numbers separated by blanks, comments
/// from # on. @throws InputError naming file and line.
std::vector<std::int16_t> read_distribution(const std::filesystem::path& file);

/// Returns the table of the impairment's distribution, read from its file for kTable.
std::vector<std::int16_t> table_of(const Impairment& impairment);

/// Returns the threshold at or below which a fraction `probability` of netem's random draws lies.
/// Request this threshold from netem as the probability, so that a fraction `probability` of the
/// frames is affected. The draws, the threshold and the correlation are all from 0 to 1. Returns 0
/// and 1 unchanged.
///
/// netem's draws are correlated: x = (1 - c) u + c x'. c is the correlation, u is uniform on 0 to
/// 1, and x' is the previous draw (get_crandom in net/sched/sch_netem.c). The draws have mean 1/2
/// but concentrate around it. So less than a fraction t of the draws is at or below a threshold t
/// under 1/2. With c = 25 %, a requested loss of 1 % loses only 0.00024 % of the frames.
/// @throws InputError for a correlation of 1, with which the first draw decides all others.
double correlated_threshold(double probability, double correlation);

struct NetemSettings {
  Impairment impairment;
  std::uint64_t rate = 0;             ///< bytes/s; 0: none
  std::uint32_t overhead = 0;         ///< bytes charged for every packet beyond its length
  std::uint32_t limit = 1000;         ///< most packets in the qdisc, delayed and queued
  std::vector<std::int16_t> table;    ///< delay distribution; used only with jitter
  std::optional<std::uint64_t> seed;  ///< not supported before Linux 6.6
};

/// Returns the request for a netem. It sends every attribute, including zeros, because the kernel
/// keeps the old value of an attribute that a change omits. It sends the table only with jitter,
/// without which the table has no effect. Probabilities are sent as 32-bit fractions of 100 %; with
/// a correlation, as the threshold that yields the probability. Times are in nanoseconds. The
/// kernel reports probabilities and times exactly, but does not report tables.
QdiscRequest netem_request(const NetemSettings& settings);

/// Returns a percentage as netem keeps it: 2^32-1 is 100 %.
std::uint32_t netem_share(double percent);

/// Returns the probability to request from netem so that it affects the fraction of frames that
/// `chance` has. Both differ with a correlation: netem's draws then concentrate around 1/2, and
/// netem affects fewer frames than requested.
std::uint32_t netem_share(const Chance& chance);

}  // namespace thinpipe
