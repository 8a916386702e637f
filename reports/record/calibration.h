// What a run's header says of its links, as far as it can be read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/record/record.h"

namespace thinpipe {

/// One way of a link, before ranks used it.
struct CalibratedWay {
  std::string where;  ///< "rack0-spine up"
  std::string set;    ///< what that link was set to; "" when nobody did
  double ceiling = 0, goodput = 0, ratio = 0;
  std::optional<double> round_trip;  ///< s
};

/// A distinct link of a launch.
struct CalibratedLinkRecord {
  std::size_t launch = 0;  ///< index into Records::headers
  std::string link;
  std::string verdict;  ///< `holds`, `off`, `unjudged`, `unmeasured`, `broken`
  std::string reason;   ///< of the last two
  std::vector<CalibratedWay> ways;

  bool held() const { return verdict == "holds"; }
  /// The way farthest off its ceiling; null without any.
  const CalibratedWay* farthest() const;
};

/// Of all launches, in file order. What is not as docs/records.md has it is left out: calibration
/// is optional, and what it decided stands in the points.
std::vector<CalibratedLinkRecord> calibrated_links(const Records& records);

}  // namespace thinpipe
