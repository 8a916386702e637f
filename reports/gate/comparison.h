// One metric of one point, before and after.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/gate/measured.h"
#include "reports/gate/policy.h"
#include "reports/statistics/interval.h"

namespace thinpipe {

enum class Verdict {
  kSame,     ///< within the margin, both ends of the interval
  kBetter,   ///< beyond the margin for sure
  kWorse,    ///< beyond the margin for sure, the wrong way; or an exact value that is another one
  kUnclear,  ///< what was measured does not say
};

/// `same`, `better`, `worse`, `unclear`.
const char* verdict_name(Verdict verdict);

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

/// What has been found so far.
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

/// What compressors keep: means, against the margin and the policy's bounds.
MetricComparison compare_quality(const SeriesName& name, const MetricSeries& before,
                                 const MetricSeries& after, const GateMargins& margins);

/// Logarithms of after / before, launch by launch, positive where worse: of the launches' medians,
/// or, `in_turns`, the median over the pairs of values of one moment. Launches in which one side
/// has no time, or not a positive one, are left out.
std::vector<double> paired_differences(const MetricSeries& before, const MetricSeries& after,
                                       bool in_turns = false);

/// Whether a smaller value is a better one; times that have a target are taken as they are.
bool lower_is_better(const MetricSeries& series);

void sort_worst_first(std::vector<MetricComparison>& comparisons);

}  // namespace thinpipe
