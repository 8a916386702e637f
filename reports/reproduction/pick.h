// Points of a command's records, and what of them counts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reports/reproduction/arm.h"
#include "reports/reproduction/cell.h"

namespace thinpipe::columns {

/// Those of the compressor; of all where it is "".
std::vector<const Point*> points_of(const ArmRecords& arm, const std::string& compressor);

/// The only sample, or the mean of all; nothing without any.
std::optional<double> mean_sample(const Point& point, const std::string& metric);

/// Of each step of a training with a server: bits an element that a worker pushed, or pulled. Empty
/// where the records do not say.
std::vector<double> bits_by_step(const Point& point, bool pulled);

using PointKey = std::uint64_t (*)(const Point&);
inline std::uint64_t seed_of(const Point& point) { return point.axes.seed; }
inline std::uint64_t repeat_of(const Point& point) {
  return static_cast<std::uint64_t>(point.axes.repeat);
}

using PointValue = std::function<std::optional<double>(const Point&)>;

/// A value a point; failed ones are complained about, and ones without the value passed over.
MeasuredCell values_of(const std::vector<const Point*>& points, PointKey key,
                       const PointValue& value);

/// The same of times: points that are not `ok` do not count, and are complained about.
MeasuredCell times_of(const std::vector<const Point*>& points, PointKey key,
                      const PointValue& value);

}  // namespace thinpipe::columns
