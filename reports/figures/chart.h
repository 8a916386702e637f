// Points and lines over two axes: most figures of the report.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/statistics/interval.h"

namespace thinpipe {

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::optional<Interval> interval;  ///< of y
  bool is_trusted = true;            ///< else hollow, grey and not joined to its neighbours
  std::string tooltip;               ///< plain text; "" for none
  std::optional<Interval> x_interval = {};
};

struct Curve {
  std::size_t style = 0;
  bool has_markers = true;
  bool has_line = true;
  std::vector<ChartPoint> points;
  std::string name = {};  ///< plain text, for the sentence and the data behind the drawing
};

struct Axis {
  std::string label;
  bool is_log = false;
  std::string (*format)(double) = nullptr;
  std::vector<double> include;  ///< values that the range must hold
  std::vector<double> ticks;    ///< where to put ticks; empty: chosen
};

/// A hollow diamond with a tooltip, for what was computed from points; a cross for what models
/// said.
struct Mark {
  double x = 0;
  double y = 0;
  std::size_t style = 0;
  std::string tooltip;
  bool is_predicted = false;
};

/// A dashed line from place to place, to compare with.
using Guide = std::vector<std::pair<double, double>>;

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
  std::vector<Guide> guides;                  ///< cut off where the axes end
  bool tells_ends = true;                     ///< chart_sentence() says what lies at both ends
};

/// What is seen, in a sentence after `alt`: what lies lowest and highest at both ends of the x
/// axis, by the curves' names.
std::string chart_sentence(const Chart& chart);

/// The chart as an `<svg>` element, or "" when no point can be drawn (values that are not finite,
/// or not positive on a logarithmic axis, are left out). Throws RunError as run_gnuplot() does.
std::string draw_chart(const Chart& chart);

}  // namespace thinpipe
