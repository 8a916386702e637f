#include "harness/launch/calibration.h"

#include <algorithm>
#include <cmath>

namespace thinpipe {

const WayCalibration* LinkCalibration::farthest() const {
  const auto off = [](const WayCalibration& way) { return std::fabs(way.ratio() - 1); };
  const auto found = std::max_element(
      ways.begin(), ways.end(), [&](const auto& a, const auto& b) { return off(a) < off(b); });
  return found == ways.end() ? nullptr : &*found;
}

}  // namespace thinpipe
