// GaussianK: the threshold of a normal distribution, corrected by a few counts.
#pragma once

#include <memory>

#include "compressors/select/ratio.h"
#include "compressors/select/selector.h"

namespace thinpipe {

struct GaussianKOptions {
  RatioSchedule ratio = {};
  bool oktopk = false;  ///< small steps, as Ok-Topk takes them
};

/// How a threshold t is corrected that z elements exceed.
struct GaussianKSteps {
  int rounds;      ///< counts at most
  unsigned parts;  ///< of which k is made here
  unsigned few;    ///< z is less than so many parts of k: t is divided by `lower`
  unsigned many;   ///< z is more than so many: t is multiplied by `raise`
  double lower;
  double raise;
  double reach;  ///< what exceeds so much of the first threshold is compacted first
};
constexpr GaussianKSteps kGaussianKSteps{
    .rounds = 3, .parts = 3, .few = 2, .many = 4, .lower = 2, .raise = 1.5, .reach = 1};
/// 1.02^-19 = 0.686: no threshold is lower.
constexpr GaussianKSteps kOkTopKSteps{
    .rounds = 20, .parts = 4, .few = 3, .many = 5, .lower = 1.02, .raise = 1.02, .reach = 0.68};

/// t = mean + |quantile(ratio / 2)| * deviation of the signed elements; z magnitudes exceed it.
/// * Shi et al., 2019: z < 2k/3 halves t, z > 4k/3 makes it 1.5 t; at most 3 counts;
/// * `oktopk` (Li and Hoefler, 2022): z < 3k/4 divides t by 1.02, z > 5k/4 multiplies it; at most
///   20 counts.
/// What exceeds the last threshold that was counted is sent, however many that is.
std::unique_ptr<Selector> make_gaussiank_selector(std::size_t elements,
                                                  const GaussianKOptions& options);

}  // namespace thinpipe
