// Tables of delay distributions, as netem draws from them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "netem/link_spec.h"

namespace thinpipe {

/// A table's unit: 8192 is one standard deviation (jitter).
inline constexpr int kDistributionScale = 8192;
/// Entries a table may have at most, by the kernel's NETEM_DIST_MAX.
inline constexpr std::size_t kDistributionMost = 16384;

/// 4096 values of equal probability. kUniform is from -1 to 1 jitter, as netem draws it without a
/// table. Of the others the mean is 0 and the deviation 1 jitter, cut at 4 (16 bits end there):
/// normal; Pareto with shape 3; and the mixture of a quarter normal and three quarters Pareto that
/// tc's paretonormal is. (tc's own pareto.dist and paretonormal.dist deviate by 0.82 and 0.83
/// jitter; they can be had as table:FILE.)
std::vector<std::int16_t> distribution_table(DelayDistribution distribution);

/// Reads a table as tc's .dist files have it: whole numbers between spaces, comments from # on.
/// @throws InputError naming file and line.
std::vector<std::int16_t> read_distribution(const std::filesystem::path& file);

/// The table an impairment asks for: one of the above.
std::vector<std::int16_t> table_of(const Impairment& way);

}  // namespace thinpipe
