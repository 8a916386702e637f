// Points and lines over two axes: most figures of the report.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reports/statistics/interval.h"

namespace thinpipe {

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::optional<Interval> interval;  ///< of y
  bool is_trusted = true;            ///< else hollow, grey and not joined to its neighbours
  std::string tooltip;               ///< plain text; "" for none
};

struct Curve {
  std::size_t style = 0;
  bool has_markers = true;
  bool has_line = true;
  std::vector<ChartPoint> points;
};

struct Axis {
  std::string label;
  bool is_log = false;
  std::string (*format)(double) = nullptr;
  std::vector<double> include;  ///< values that the range must hold
  std::vector<double> ticks;    ///< where to put ticks; empty: chosen
};

/// A hollow diamond with a tooltip, for what was computed from points.
struct Mark {
  double x = 0;
  double y = 0;
  std::size_t style = 0;
  std::string tooltip;
};

/// Where values were expected, left to right: low <= middle <= high.
struct BandPoint {
  double x = 0, low = 0, middle = 0, high = 0;
};

struct Chart {
  std::string id;   ///< unique in the page
  std::string alt;  ///< what the drawing shows, in words
  int width = 440;  ///< of the drawing's own coordinates; the smaller, the larger its text looks
  Axis x, y;
  std::vector<Curve> curves;
  std::vector<Mark> marks;
  std::vector<double> reference_lines;        ///< horizontal ones, at these y
  std::vector<double> upright_lines;          ///< at these x
  std::vector<std::vector<BandPoint>> bands;  ///< behind the curves, each with a line in its middle
};

/// The chart as an `<svg>` element, or "" when no point can be drawn (values that are not finite,
/// or not positive on a logarithmic axis, are left out). Throws RunError as run_gnuplot() does.
std::string draw_chart(const Chart& chart);

}  // namespace thinpipe
