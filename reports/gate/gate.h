// Judges measurements before and after a change. Reports everything that cannot be compared.
//
// Times are judged by d = ln(after / before), which is positive if the time is worse. d is the
// Hodges–Lehmann estimate, with the interval of the rank test. With the margin m, a time is worse
// if d is significantly above ln(1 + m), and better if d is significantly below -ln(1 + m). It is
// the same if rank tests place d significantly between these bounds, and else unclear. The
// procedure of Benjamini and Hochberg accepts the verdicts `worse` and `better` over all metrics
// together. Repeated looks at growing data share alpha evenly.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/gate/measured.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {

// The margins that a gate allows, by metric and point.

/// A rule for the metrics that match its globs; empty fields keep the earlier values.
struct MetricRule {
  std::string metric = "*";  ///< glob of the metric's name
  std::string point = "*";   ///< glob of the point's id
  std::optional<bool> ignore = {};
  std::optional<double> margin = {};            ///< a fraction: 0.02 is 2 %
  std::optional<double> least = {}, most = {};  ///< bounds of quality metrics, in the metric's unit
};

/// A metric's margins after all rules.
struct GateMargins {
  bool ignore = false;
  double margin = 0;
  std::optional<double> least = {}, most = {};
};

struct GatePolicy {
  double margin = 0.02;         ///< of times measured in pairs
  double stored_margin = 0.10;  ///< of times compared with a stored baseline
  double quality_margin = 0.01;
  double alpha = 0.05;  ///< risk of a false alarm for a change of just the margin
  int pairs = 10;       ///< before the first look
  int looks = 3;        ///< each after twice as many pairs as the one before
  /// Rules for single metrics. If several rules match a metric, the last one that sets a field
  /// counts. The first rules ignore metrics that measure the machine rather than thinpipe, such as
  /// the time to read memory, to compute, or for a step without communication.
  std::vector<MetricRule> rules = machine_rules();

  static std::vector<MetricRule> machine_rules();

  /// Returns the margins of a metric of a point.
  /// @param standard  margin, stored_margin or quality_margin
  GateMargins of(const std::string& point, const std::string& metric, double standard) const;
  /// Returns the standard margin of a metric of this kind, compared with stored records.
  double stored(const std::string& kind) const {
    return kind == "timed" ? stored_margin : quality_margin;
  }
  int most_pairs() const { return pairs << (looks - 1); }
};

/// Parses a policy (docs/gate.md): `[gate]`, then sections named by globs.
/// @throws InputError naming line and key
GatePolicy parse_policy(std::string_view text, const std::filesystem::path& name);
GatePolicy read_policy(const std::filesystem::path& file);

// Comparisons.

enum class Verdict {
  kSame,     ///< two one-sided tests show a change within the margin
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

/// Compares values that depend only on the seed: any difference is `worse`.
/// @param direction_counts  true: a change for the better is `better`, for a comparison with an
/// older build; false: it is `worse`, because a stored baseline must then be renewed
MetricComparison compare_exact(const SeriesName& name, const MetricSeries& before,
                               const MetricSeries& after, bool direction_counts);

/// Makes the comparison `worse` if the newer value is outside the policy's bounds.
void judge_bounds(const GateMargins& margins, MetricComparison& comparison);

/// Compares the means of a quality metric, by the margin and the policy's bounds. The launch with
/// the worst mean stands for the newer build. Fewer finite values than before are `worse`.
MetricComparison compare_quality(const SeriesName& name, const MetricSeries& before,
                                 const MetricSeries& after, const GateMargins& margins);

/// Returns ln(after / before) for each launch, with the sign that makes worse positive. Each value
/// compares the medians of the two launches. With `in_turns`, it is the median over pairs of values
/// that were measured at the same moment. Leaves out launches in which one side has no positive
/// time.
std::vector<double> paired_differences(const MetricSeries& before, const MetricSeries& after,
                                       bool in_turns = false);

void sort_worst_first(std::vector<MetricComparison>& comparisons);

/// Compares an older build with a newer build; the two builds were launched alternately. Launch i
/// of the older and launch i of the newer build are a pair. Call look() first after policy.pairs
/// pairs. While a metric is unclear, double the number of pairs and call look() again, at most
/// policy.looks times in all. A metric with a clear verdict keeps it in later looks.
class PairedGate {
 public:
  explicit PairedGate(GatePolicy policy) : policy_(std::move(policy)) {}

  /// Judges all launches so far. @throws InputError when the sides are of different kinds
  GateOutcome look(const Measured& older, const Measured& after);

 private:
  struct Settled {
    MetricComparison comparison;
    double p_worse = 1, p_better = 1;  // at the look that settled it
  };

  GatePolicy policy_;
  std::map<SeriesName, Settled> settled_;
  int looks_ = 0;
};

/// The times that are compared with a stored baseline.
enum class Times {
  kRatios,  ///< times over another time of the same launch; valid on any machine
  kAll,     ///< also seconds; both sides must be of one machine
  kNone,
};

/// Compares measured launches with the launches in a stored baseline file. Times have one value per
/// launch and are compared by the Mann–Whitney test and the Hodges–Lehmann shift. If a side has
/// fewer than 4 launches, times are reported as `missing`.
GateOutcome judge_stored(const Measured& stored, const Measured& measured, const GatePolicy& policy,
                         Times times);

/// Returns a gate's exit code: 4 when a point failed, 5 when something could not be compared or
/// nothing was compared, 1 when a metric is worse, 3 when a metric is unclear and `strict`, else 0.
int exit_code(const GateOutcome& outcome, bool strict);

// The outcome for people and for CI systems.

/// The longest job summary that GitHub accepts, in bytes.
inline constexpr std::size_t kLongestSummary = 1 << 20;

/// Returns the number of metrics by verdict, and the worst metric.
std::string gate_sentence(const GateOutcome& outcome);

/// Returns the text of gate_sentence(), then the changed metrics, worst first. Lines have at most
/// 80 columns; only ids of points may be longer, on lines of their own.
/// @param all  lists unchanged metrics too
std::string gate_text(const GateOutcome& outcome, bool all);

/// Returns a job summary of at most `longest` bytes; lines that do not fit are counted.
std::string gate_markdown(const GateOutcome& outcome, std::size_t longest = kLongestSummary);

/// Returns JUnit's XML with one test case per metric. A metric that is `worse` is a failure, a
/// metric that cannot be compared is an error, and an `unclear` metric is a skipped test.
std::string gate_junit(const GateOutcome& outcome);

/// Returns one GitHub annotation that names the worst metrics; "" where nothing is wrong.
std::string gate_annotation(const GateOutcome& outcome);

nlohmann::json gate_json(const GateOutcome& outcome);

// Phrases that all formats share.

std::string change_text(const MetricComparison& comparison);  ///< "+5.3 % (+4.1 to +6.4)"
/// Returns "12.3 ms". `unit` and `kind` are those of a Metric.
std::string value_text(const std::string& unit, const std::string& kind, double value);

}  // namespace thinpipe
