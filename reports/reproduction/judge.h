// Judges whether a paper's finding holds in a reproduction. A finding is written as a rule on the
// measured values.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "reports/statistics/statistics.h"

namespace thinpipe {

/// One repetition of a measurement. Values with the same key belong together: the same seed, the
/// same repeat of a run, the same worker's gradients.
struct Repetition {
  std::uint64_t key = 0;
  double value = 0;
};

/// One figure of a reproduction: the measurements of one row and column.
struct MeasuredCell {
  std::vector<Repetition> repetitions = {};
  bool exact = false;                                 ///< deterministic: every repetition is equal
  bool is_ratio = false;                              ///< the mean is geometric
  bool distrusted = false;                            ///< has times, but none is trusted
  std::vector<std::string> complaints = {};           ///< points that do not count, with reasons
  std::vector<std::string> baseline_complaints = {};  ///< those of the baseline of a ratio

  std::vector<double> values() const;
  /// Returns the mean of at least one value, with its 95 % interval where the cell is not exact and
  /// has enough values.
  Estimate estimate() const;
};

/// Two cells' values of the same key, first to second.
struct PairedValue {
  double first = 0, second = 0;
};
std::vector<PairedValue> paired(const MeasuredCell& first, const MeasuredCell& second);

/// The bounded quantity of two cells.
enum class Bounded {
  kDifference,  ///< the first less the second
  kRatio,       ///< the first over the second; the mean is geometric
  kValue,       ///< the first alone
};

/// A rule, which is written before anything runs.
struct Expectation {
  std::string says;            ///< the finding, for a reader
  std::string arm, than = {};  ///< rows; `than` is unused for Bounded::kValue
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  Bounded bounded = Bounded::kDifference;
  std::string column = {};       ///< heading; "" is the first column
  std::string than_column = {};  ///< of the second cell; "" for the same column
  std::string one_side = {};     ///< why one bound suffices; "" with two bounds
  bool arithmetic = false;       ///< follows from the encoder's layout, whatever the gradients
};

enum class Appeared {
  kYes,         ///< the interval lies within the bounds; of exact figures, the figure
  kNo,          ///< the interval lies outside the bounds
  kUnclear,     ///< the interval holds a bound; or trainings missed a target on both sides
  kSeen,        ///< too few repetitions for an interval; the mean lies within the bounds
  kNotSeen,     ///< likewise; the mean lies outside
  kDistrusted,  ///< has times, but none is trusted
  kVoid,        ///< about learning, and the baseline itself did not learn
  kMissing,     ///< nothing was measured
};

/// Returns "yes", "no", "unclear", "looks so", "does not look so", "not trusted", "void", "not
/// measured".
const char* words_of(Appeared appeared);

struct JudgedFinding {
  Expectation expected;
  std::optional<Estimate> measured;  ///< the difference, ratio or value
  Appeared appeared = Appeared::kMissing;
  std::string void_because = {};  ///< of kVoid
};

/// Judges a finding by the mean difference or ratio of values with the same key (Repetition::key),
/// with Student's 95 % interval.
/// @param second  null if the rule bounds the first cell's value alone
JudgedFinding judge(const Expectation& expected, const MeasuredCell& first,
                    const MeasuredCell* second);

/// Returns "'a' less 'b', accuracy: at least -1 (REASON)", with the reason for a single bound.
std::string rule_text(const Expectation& expected, const std::string& column,
                      const std::string& than_column);

}  // namespace thinpipe
