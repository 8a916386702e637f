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

/// Returns 4096 values of equal probability. kUniform ranges from -1 to 1 jitter, as netem draws
/// delays without a table. The other distributions have mean 0 and standard deviation 1 jitter,
/// cut at 4 (the range of 16 bits): normal; Pareto with shape 3; and tc's paretonormal, a mixture
/// of a quarter normal and three quarters Pareto. The standard deviations of tc's own pareto.dist
/// and paretonormal.dist are 0.82 and 0.83 jitter; table:FILE selects these files.
std::vector<std::int16_t> distribution_table(DelayDistribution distribution);

/// Reads a table in the format of tc's .dist files: whole numbers separated by blanks, comments
/// from # on. @throws InputError naming file and line.
std::vector<std::int16_t> read_distribution(const std::filesystem::path& file);

/// Returns the table of the impairment's distribution, read from its file for kTable.
std::vector<std::int16_t> table_of(const Impairment& impairment);

/// Returns the fraction of netem's draws at or below a threshold, both from 0 to 1, for a
/// correlation from 0 to 1.
///
/// netem's draws are correlated: x = (1 - c) u + c x', with u uniform on 0 to 1 and x' the draw
/// before (get_crandom in net/sched/sch_netem.c). The draws have mean 1/2 but concentrate around
/// it, so that fewer than a fraction `threshold` lies at or below a threshold under 1/2. With
/// c = 25 %, a requested loss of 1 % loses 0.00024 %. The function evaluates the distribution of
/// the sum of (1 - c) c^k u_k over all k by its Fourier series on 0 to 1.
double correlated_share(double threshold, double correlation);

/// Returns the threshold at or below which a fraction `probability` of the draws lies. This is the
/// probability to request from netem. Returns 0 and 1 unchanged.
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

/// Returns a netem. Every attribute is sent, including zeros, because the kernel keeps the old
/// value of an attribute that a change omits. The table is sent only with jitter, without which it
/// has no effect. Probabilities are kept in 32 bits of 100 % (with a correlation, as the threshold
/// that yields the probability) and times in nanoseconds; the kernel reports both exactly. The
/// kernel does not report tables.
QdiscRequest netem_request(const NetemSettings& settings);

/// Returns a percentage as netem keeps it: 2^32-1 is 100 %.
std::uint32_t netem_share(double percent);

/// Returns the probability to request so that the chance's fraction of frames is affected. With a
/// correlation, netem's draws concentrate around 1/2 and fewer frames than requested are affected.
std::uint32_t netem_share(const Chance& chance);

}  // namespace thinpipe
