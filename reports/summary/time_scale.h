// Points measured with time dilation (docs/time-scaling.md): which of them may share a report, and
// whether the same point agrees at several time scales.
#pragma once

#include <string>
#include <vector>

#include "reports/record/record.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {

/// Checks that all measured points with the same link and the same number of ranks were measured at
/// the same time scale. @throws InputError naming the link, the ranks and the different time scales
void require_one_time_scale(const Records& records);

/// Returns the records with only those points that were measured at the time scale `factor`.
/// @throws InputError when there are none, naming the factors that the records have.
Records at_time_scale(Records records, double factor);

/// Returns notes for a report's reader: which points were run with time dilation, and what that
/// means. Empty where all were run at 1.
std::vector<std::string> time_scale_notes(const Records& records);

/// One compressor on one link with one number of ranks, at two time scales.
struct ScaleAgreement {
  std::string what;                ///< "none on rate=1gbit, 4 ranks"
  double base = 1, factor = 1;     ///< the time scales; base is the one nearest to 1
  double base_time = 0, time = 0;  ///< s, median step times, of the emulated machine
  Estimate ratio = {};             ///< time / base_time
  enum class Verdict {
    kAgree,       ///< the ratio's 95 % interval reaches 1, or within 1 % of it
    kDisagree,    ///< the interval does not
    kTooFew,      ///< fewer than 6 steps at one of them: no interval
    kNotTrusted,  ///< no `ok` point at one of them
  };
  Verdict verdict = Verdict::kTooFew;
};

/// Compares every point that was measured at several time scales: each other factor with the base.
std::vector<ScaleAgreement> compare_time_scales(const Records& records);

/// Returns "none on rate=1gbit, 4 ranks: 12.3 ms a step at time scale 2, 12.4 ms at 1: agree (ratio
/// 0.992, 0.985 to 1.001)".
std::string agreement_sentence(const ScaleAgreement& agreement);

}  // namespace thinpipe
