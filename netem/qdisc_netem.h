// netem: delay, loss and the other impairments, and a rate without a bucket.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "netem/link_spec.h"
#include "netem/qdisc.h"

namespace thinpipe {

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

/// What to ask for so that the chance's share of frames is hit: with a correlation netem's draws
/// crowd around the middle, and fewer than the share it is told would be.
std::uint32_t netem_share(const Chance& chance);

}  // namespace thinpipe
