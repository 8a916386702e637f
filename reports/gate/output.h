// A gate's outcome for people and for the programs that run it.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reports/gate/gate.h"

namespace thinpipe {

/// GitHub takes no longer summary of a job.
inline constexpr std::size_t kLongestSummary = 1 << 20;

/// One sentence: how many metrics of how many, and the worst of them.
std::string gate_sentence(const GateOutcome& outcome);

/// For a terminal: the sentence, then what is not as it was, worst first. 80 columns but for ids of
/// points, which stand on lines of their own. @param all  also what is the same
std::string gate_text(const GateOutcome& outcome, bool all);

/// A summary of a job; at most `longest` bytes, what does not fit is counted.
std::string gate_markdown(const GateOutcome& outcome, std::size_t longest = kLongestSummary);

/// JUnit's XML: a test case a metric. Worse is a failure, not comparable an error, unclear skipped.
std::string gate_junit(const GateOutcome& outcome);

/// One GitHub annotation that names the worst metrics; "" when there is nothing to complain of.
std::string gate_annotation(const GateOutcome& outcome);

nlohmann::json gate_json(const GateOutcome& outcome);

// Phrases that all of them share.

std::string change_text(const MetricComparison& comparison);  ///< "+5.3 % (+4.1 to +6.4)"
std::string value_text(const MetricComparison& comparison, double value);  ///< "12.3 ms"
std::string metric_title(const MetricComparison& comparison);  ///< "encode_time of topk/..."

}  // namespace thinpipe
