// netem: delay, loss and the other impairments, and a rate without a bucket; the tables from which
// it draws delays; and what it makes of chances with a correlation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "netem/link/link_spec.h"
#include "netem/link/qdisc.h"

namespace thinpipe {

/// The unit of a delay distribution's table: 8192 is one standard deviation (jitter).
inline constexpr int kDistributionScale = 8192;
/// Entries a table may have at most, by the kernel's NETEM_DIST_MAX.
inline constexpr std::size_t kDistributionMost = 16384;

/// 4096 values of equal probability. kUniform is from -1 to 1 jitter, as netem draws it without a
/// table. The others have mean 0 and deviation 1 jitter, cut at 4 (16 bits end there): normal;
/// Pareto with shape 3; and the mixture of a quarter normal and three quarters Pareto that tc's
/// paretonormal is. (tc's own pareto.dist and paretonormal.dist deviate by 0.82 and 0.83 jitter;
/// they can be had as table:FILE.)
std::vector<std::int16_t> distribution_table(DelayDistribution distribution);

/// Reads a table as tc's .dist files have it: whole numbers between spaces, comments from # on.
/// @throws InputError naming file and line.
std::vector<std::int16_t> read_distribution(const std::filesystem::path& file);

/// The table an impairment asks for: one of the above.
std::vector<std::int16_t> table_of(const Impairment& way);

/// netem decides by draws that remember: x = (1 - c) u + c x', with u uniform on 0 to 1 and x' the
/// draw before (get_crandom in net/sched/sch_netem.c). Their mean is 1/2, but they crowd around it:
/// fewer than `threshold` of them are at or below a threshold under 1/2. With c = 25 %, netem's
/// loss of 1 % loses 0.00024 %.
///
/// This is the share at or below a threshold, both 0 to 1, for a correlation from 0 to 1: the
/// distribution of the sum of (1 - c) c^k u_k over all k, from its Fourier series on 0 to 1.
double correlated_share(double threshold, double correlation);

/// The threshold at or below which `share` of the draws are: what to ask netem for. 0 and 1 are
/// themselves. @throws InputError for a correlation of 1, under which the first draw decides all.
double correlated_threshold(double share, double correlation);

struct NetemSettings {
  Impairment way;
  std::uint64_t rate = 0;             ///< bytes/s; 0: none
  std::uint32_t overhead = 0;         ///< bytes charged for every packet beyond its length
  std::uint32_t limit = 1000;         ///< packets held at most, on their way and waiting
  std::vector<std::int16_t> table;    ///< of the delay's distribution; used when there is jitter
  std::optional<std::uint64_t> seed;  ///< kernels before 6.6 know none
};

/// Every attribute is sent, zeros too: what a change leaves out keeps its old value in the kernel
/// (but the table, which only counts with jitter, and is sent then). Shares are kept in 32 bits of
/// 100 % (correlated ones as the threshold that hits them), times in nanoseconds, and come back as
/// they are; tables are not told back.
QdiscRequest netem_request(const NetemSettings& settings);

/// Percent as netem keeps it: 2^32-1 is 100 %.
std::uint32_t netem_share(double percent);

/// Returns the share to request so that the chance's share of frames is hit. With a correlation
/// netem's draws crowd around the middle, and fewer frames than requested would be hit.
std::uint32_t netem_share(const Chance& chance);

}  // namespace thinpipe
