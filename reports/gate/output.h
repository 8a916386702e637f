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
std::string value_text(const MetricComparison& comparison, double value);  ///< "12.3 ms"
std::string metric_title(const MetricComparison& comparison);  ///< "encode_time of topk/..."

}  // namespace thinpipe
