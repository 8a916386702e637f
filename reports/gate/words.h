// The phrases that all of a gate's outputs share.
#pragma once

#include <string>

#include "reports/gate/comparison.h"

namespace thinpipe {

std::string change_text(const MetricComparison& comparison);  ///< "+5.3 % (+4.1 to +6.4)"
std::string value_text(const MetricComparison& comparison, double value);  ///< "12.3 ms"
std::string metric_title(const MetricComparison& comparison);  ///< "encode_time of topk/..."
std::string detail_text(
    const MetricComparison& comparison);  ///< "1.2 ms -> 1.3 ms; margin 2 %; note"

}  // namespace thinpipe
