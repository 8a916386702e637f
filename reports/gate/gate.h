// Judges what was measured before and after: never silent about what cannot be compared.
//
// Times: d = ln(after / before), positive where worse; the Hodges–Lehmann estimate and the interval
// that goes with the rank test. With the margin m: worse where d > ln(1 + m) for sure, better where
// d < -ln(1 + m), the same where both ends lie between, else unclear. `worse` and `better` are
// believed by the rule of Benjamini and Hochberg over all metrics; alpha is split evenly across the
// looks.
#pragma once

#include <cstdint>

#include "reports/gate/comparison.h"
#include "reports/gate/measured.h"
#include "reports/gate/policy.h"

namespace thinpipe {

/// Judges an older build against a newer one, run in turn: launch i of one and launch i of the
/// other are a pair. Call it after policy.pairs pairs and then, while GateOutcome says that
/// something is unclear, after twice as many, up to policy.looks times. What was told apart at one
/// look stays so at the next.
class PairedGate {
 public:
  explicit PairedGate(GatePolicy policy) : policy_(std::move(policy)) {}

  /// @throws InputError when the two are of different kinds.
  GateOutcome look(const Measured& before, const Measured& after);

 private:
  GatePolicy policy_;
  std::map<SeriesName, MetricComparison> settled_;
  int looks_ = 0;
};

/// Which times are held against a stored baseline.
enum class Times {
  kRatios,  ///< those over something that the same launch measured; a baseline of them travels
  kAll,     ///< also seconds: both must be of one machine
  kNone,
};

/// Judges launches against those of a baseline's file, by Mann–Whitney with the Hodges–Lehmann
/// shift; each side has one value a launch. Fewer than 4 launches on a side leave times `missing`.
GateOutcome judge_stored(const Measured& baseline, const Measured& measured,
                         const GatePolicy& policy, Times times);

/// What a gate's outcome is as an exit code (DESIGN): 4 when a point failed, 5 when something
/// could not be compared or nothing was, 1 when something is worse, 3 when something is unclear and
/// `strict`, else 0.
int exit_code(const GateOutcome& outcome, bool strict);

}  // namespace thinpipe
