// Points measured in slow or fast motion (docs/time-scaling.md): which may stand together, and
// whether the same point came out the same at several time scales.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/record/record.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {

/// Speed-ups compare points on one link with so many ranks; they must be of one time scale.
/// @throws InputError naming link, ranks and factors where they are not.
void require_one_time_scale(const Records& records);

/// Leaves the points of one factor only. @throws InputError when there are none, naming those that
/// there are.
Records at_time_scale(Records records, double factor);

/// For a reader of the report: which points were run in slow or fast motion, and what it means.
/// None when all were run at 1.
std::vector<std::string> time_scale_notes(const Records& records);

/// One compressor on one link with so many ranks, at two time scales.
struct ScaleAgreement {
  std::string what;                ///< "none on rate=1gbit, 4 ranks"
  double base = 1, factor = 1;     ///< the time scales; base is the one nearest to 1
  double base_time = 0, time = 0;  ///< s, median step times, of the emulated machine
  Estimate ratio;                  ///< time / base_time
  enum class Verdict {
    kAgree,       ///< the ratio's 95 % interval reaches 1, or within 1 % of it
    kDisagree,    ///< it does not
    kTooFew,      ///< fewer than 6 steps at one of them: no interval
    kNotTrusted,  ///< no `ok` point at one of them
  };
  Verdict verdict = Verdict::kTooFew;
};

/// Every point that was measured at several time scales, each other factor against the base.
std::vector<ScaleAgreement> compare_time_scales(const Records& records);

/// "none on rate=1gbit, 4 ranks: 12.3 ms a step at time scale 2, 12.4 ms at 1: agree (ratio 0.992,
/// 0.985 to 1.001)".
std::string agreement_sentence(const ScaleAgreement& agreement);

}  // namespace thinpipe
