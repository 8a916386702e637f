// Judges what was measured before and after: never silent about what cannot be compared.
//
// Times: d = ln(after / before), positive where worse; the Hodges–Lehmann estimate and the interval
// that goes with the rank test. With the margin m: worse where d > ln(1 + m) for sure, better where
// d < -ln(1 + m), the same where both ends lie between, else unclear. `worse` and `better` are
// believed by the rule of Benjamini and Hochberg over all metrics; alpha is split evenly across the
// looks.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/gate/measured.h"
#include "reports/gate/policy.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {

enum class Verdict {
  kSame,     ///< within the margin, both ends of the interval
  kBetter,   ///< beyond the margin for sure
  kWorse,    ///< beyond the margin for sure, the wrong way; or an exact value that is another one
  kUnclear,  ///< what was measured does not say
};

/// `same`, `better`, `worse`, `unclear`.
const char* verdict_name(Verdict verdict);

/// One metric of one point, before and after.
struct MetricComparison {
  SeriesName name;
  std::string unit, better, kind;
  Verdict verdict = Verdict::kUnclear;
  double before = 0, after = 0;           ///< medians of times, means of others
  double change = 0;                      ///< a share; positive is worse, whatever `better` says
  std::optional<Interval> interval = {};  ///< of `change`, for times
  double margin = 0;                      ///< a share
  std::size_t samples = 0;                ///< pairs, or launches of the side that has fewer
  std::string note = {};                  ///< for a person: why, where the figures do not say it
};

/// Findings so far.
struct GateOutcome {
  std::vector<MetricComparison> comparisons;  ///< worst first: by verdict, then by change
  std::vector<std::string> missing;  ///< what one side has and the other has not; never silent
  std::vector<std::string> failed;   ///< points that were not measured well, and why
  std::size_t launches = 0;          ///< of each side, at most
  int looks = 1;
  bool in_turns = false;  ///< measured slice by slice in turn, not launch by launch

  std::size_t count(Verdict verdict) const;
};

/// Values that the seed alone decides: equal, or worse. @param direction_counts  a change for the
/// better is none to complain of (against an older build; a stored baseline is to be renewed)
MetricComparison compare_exact(const SeriesName& name, const MetricSeries& before,
                               const MetricSeries& after, bool direction_counts);

/// Compares quality: means, against the margin and the policy's bounds.
MetricComparison compare_quality(const SeriesName& name, const MetricSeries& before,
                                 const MetricSeries& after, const GateMargins& margins);

/// Logarithms of after / before, launch by launch, positive where worse: of the launches' medians,
/// or, `in_turns`, the median over the pairs of values of one moment. Launches in which one side
/// has no time, or not a positive one, are left out.
std::vector<double> paired_differences(const MetricSeries& before, const MetricSeries& after,
                                       bool in_turns = false);

void sort_worst_first(std::vector<MetricComparison>& comparisons);

/// Judges an older build against a newer one, run in turn: launch i of one and launch i of the
/// other are a pair. Call it after policy.pairs pairs and then, while GateOutcome says that
/// something is unclear, after twice as many, up to policy.looks times. A verdict reached at one
/// look stays at the next.
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

/// Returns a gate's exit code (DESIGN): 4 when a point failed, 5 when something could not be
/// compared or nothing was, 1 when something is worse, 3 when something is unclear and `strict`,
/// else 0.
int exit_code(const GateOutcome& outcome, bool strict);

}  // namespace thinpipe
