// A figure of a reproduction, a paper's finding as a rule on figures, and whether it appeared.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "reports/statistics/statistics.h"

namespace thinpipe {

/// One value for each time that the same was measured. Values of one key were measured alike: the
/// same seed, the same repeat of a run, the same worker's gradients.
struct Repetition {
  std::uint64_t key = 0;
  double value = 0;
};

/// One figure of a reproduction: what was measured of a row in a column.
struct MeasuredCell {
  std::vector<Repetition> repetitions;
  bool exact = false;                   ///< measured again it would be the same to the last digit
  bool is_ratio = false;                ///< its mean is a geometric one
  bool distrusted = false;              ///< there are times, but none that can be trusted
  std::vector<std::string> complaints;  ///< what does not count, and why

  std::vector<double> values() const;
  /// Their mean, with its 95 % interval where it is not exact and there are enough of them; of at
  /// least one.
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
  kRatio,       ///< the first over the second; its mean is a geometric one
  kValue,       ///< the first alone
};

/// Written before anything runs.
struct Expectation {
  std::string says;            ///< the finding, for a person
  std::string arm, than = {};  ///< rows; `than` stands for nothing where a value is bounded
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  Bounded bounded = Bounded::kDifference;
  std::string column = {};       ///< heading; "" is the first column
  std::string than_column = {};  ///< of the second cell, if not the same
};

enum class Appeared {
  kYes,         ///< the interval lies within the bounds; of exact figures, the figure
  kNo,          ///< it lies outside
  kUnclear,     ///< it reaches across a bound
  kSeen,        ///< too few repetitions for an interval: the mean lies within the bounds
  kNotSeen,     ///< likewise, outside
  kDistrusted,  ///< there are times, but none that can be trusted
  kMissing,     ///< nothing was measured
};

/// "yes", "no", "unclear", "looks so", "does not look so", "not trusted", "not measured".
const char* words_of(Appeared appeared);

struct JudgedFinding {
  Expectation expected;
  std::optional<Estimate> measured;  ///< the difference, ratio or value
  Appeared appeared = Appeared::kMissing;
};

/// Judges the mean difference or ratio of values of one key (Repetition::key), with Student's 95 %
/// interval. @param second  null where a value is bounded
JudgedFinding judge(const Expectation& expected, const MeasuredCell& first,
                    const MeasuredCell* second);

/// "'a' less 'b', accuracy: at least -1".
std::string rule_text(const Expectation& expected, const std::string& column,
                      const std::string& than_column);

}  // namespace thinpipe
