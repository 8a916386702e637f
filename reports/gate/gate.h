// Judges measurements before and after a change. Reports everything that cannot be compared.
//
// Times: d = ln(after / before), positive where worse, by the Hodges–Lehmann estimate and the
// interval of the rank test. With the margin m: worse where d is significantly above ln(1 + m),
// better where d is significantly below -ln(1 + m), the same where the whole interval lies between,
// else unclear. The procedure of Benjamini and Hochberg accepts `worse` and `better` over all
// metrics; alpha is split evenly across the looks.
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
  kSame,     ///< the whole interval lies within the margin
  kBetter,   ///< significantly better by more than the margin
  kWorse,    ///< significantly worse by more than the margin, or a changed exact value
  kUnclear,  ///< the measurements do not decide
};

/// Returns `same`, `better`, `worse` or `unclear`.
const char* verdict_name(Verdict verdict);

/// One metric of one point, before and after.
struct MetricComparison {
  SeriesName name;
  std::string unit, better, kind;
  Verdict verdict = Verdict::kUnclear;
  double before = 0, after = 0;           ///< medians of times, means of other metrics
  double change = 0;                      ///< a fraction; positive is worse whatever `better` is
  std::optional<Interval> interval = {};  ///< of `change`, for times
  double margin = 0;                      ///< a fraction
  std::size_t samples = 0;                ///< pairs, or launches of the side with fewer
  std::string note = {};                  ///< a reason that the figures do not show
};

/// The findings so far.
struct GateOutcome {
  std::vector<MetricComparison> comparisons;  ///< worst first: by verdict, then by change
  std::vector<std::string> missing;           ///< everything that only one side has
  std::vector<std::string> failed;            ///< points that are not `ok`, with reasons
  std::size_t launches = 0;                   ///< of the side with more
  int looks = 1;
  bool in_turns = false;  ///< measured slice by slice in turn, not launch by launch

  std::size_t count(Verdict verdict) const;
};

/// Compares values that depend only on the seed: equal, or worse. @param direction_counts  a change
/// for the better is `better` (compared with an older build) and not `worse` (a stored baseline is
/// to be renewed)
MetricComparison compare_exact(const SeriesName& name, const MetricSeries& before,
                               const MetricSeries& after, bool direction_counts);

/// Compares the means of a quality metric, by the margin and the policy's bounds.
MetricComparison compare_quality(const SeriesName& name, const MetricSeries& before,
                                 const MetricSeries& after, const GateMargins& margins);

/// Returns the logarithms of after / before by launch, positive where worse: of the launches'
/// medians or, with `in_turns`, the median over pairs of values of one moment. Launches in which
/// one side has no positive time are left out.
std::vector<double> paired_differences(const MetricSeries& before, const MetricSeries& after,
                                       bool in_turns = false);

void sort_worst_first(std::vector<MetricComparison>& comparisons);

/// Compares an older build with a newer one that ran in turn: launch i of one and launch i of the
/// other are a pair. Call look() after policy.pairs pairs and then, while the outcome has an
/// unclear metric, after twice as many, up to policy.looks times. A verdict of one look stays at
/// the next.
class PairedGate {
 public:
  explicit PairedGate(GatePolicy policy) : policy_(std::move(policy)) {}

  /// Judges all launches so far. @throws InputError when the sides are of different kinds
  GateOutcome look(const Measured& before, const Measured& after);

 private:
  GatePolicy policy_;
  std::map<SeriesName, MetricComparison> settled_;
  int looks_ = 0;
};

/// The times that are compared with a stored baseline.
enum class Times {
  kRatios,  ///< times over another time of the same launch; valid on any machine
  kAll,     ///< also seconds; both sides must be of one machine
  kNone,
};

/// Compares launches with those of a baseline's file, by the Mann–Whitney test and the
/// Hodges–Lehmann shift, with one value per launch. With fewer than 4 launches on a side, times are
/// `missing`.
GateOutcome judge_stored(const Measured& baseline, const Measured& measured,
                         const GatePolicy& policy, Times times);

/// Returns a gate's exit code: 4 when a point failed, 5 when something could not be compared or
/// nothing was compared, 1 when a metric is worse, 3 when a metric is unclear and `strict`, else 0.
int exit_code(const GateOutcome& outcome, bool strict);

}  // namespace thinpipe
