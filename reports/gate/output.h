// A gate's outcome for people and for CI systems.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reports/gate/gate.h"

namespace thinpipe {

/// The longest job summary that GitHub accepts, in bytes.
inline constexpr std::size_t kLongestSummary = 1 << 20;

/// Returns the number of metrics by verdict, and the worst metric.
std::string gate_sentence(const GateOutcome& outcome);

/// Returns the sentence, then the changes, worst first. At most 80 columns, except for ids of
/// points, which have lines of their own. @param all  also unchanged metrics
std::string gate_text(const GateOutcome& outcome, bool all);

/// Returns a job summary of at most `longest` bytes; lines that do not fit are counted.
std::string gate_markdown(const GateOutcome& outcome, std::size_t longest = kLongestSummary);

/// Returns JUnit's XML with a test case per metric. `worse` is a failure, not comparable an error,
/// `unclear` is skipped.
std::string gate_junit(const GateOutcome& outcome);

/// Returns one GitHub annotation that names the worst metrics; "" where nothing is wrong.
std::string gate_annotation(const GateOutcome& outcome);

nlohmann::json gate_json(const GateOutcome& outcome);

// Phrases that all formats share.

std::string change_text(const MetricComparison& comparison);  ///< "+5.3 % (+4.1 to +6.4)"
std::string value_text(const MetricComparison& comparison, double value);  ///< "12.3 ms"
std::string metric_title(const MetricComparison& comparison);  ///< "encode_time of topk/..."

}  // namespace thinpipe
