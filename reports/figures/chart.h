// Descriptions of drawings: charts of points and lines over two axes, scatter plots, stacked bars
// and rows of boxes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/statistics/statistics.h"

namespace thinpipe {

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::optional<Interval> interval;  ///< of y
  bool is_trusted = true;            ///< else hollow, grey and not joined to neighbours
  std::string tooltip;               ///< plain text; "" for none
  std::optional<Interval> x_interval = {};
};

struct Curve {
  std::size_t style = 0;
  bool has_markers = true;  ///< of trusted points; untrusted ones always have markers
  bool has_line = true;
  std::vector<ChartPoint> points = {};
  std::string name = {};  ///< plain text, for the sentence and the drawing's data
  double x_factor = 1;    ///< drawn x over a point's x, so that curves do not cover each other
};

struct Axis {
  std::string label = {};
  bool is_log = false;
  std::string (*format)(double) = nullptr;
  std::vector<double> include = {};  ///< values that the range must include
  std::vector<double> ticks = {};    ///< positions of ticks; chosen automatically if empty
};

/// A hollow diamond with a tooltip, for a value computed from points; a cross for a prediction.
struct Mark {
  double x = 0;
  double y = 0;
  std::size_t style = 0;
  std::string tooltip;
  bool is_predicted = false;
};

/// A dashed line through these points, for comparison.
using Guide = std::vector<std::pair<double, double>>;

/// The range of expected values at x: low <= middle <= high.
struct BandPoint {
  double x = 0, low = 0, middle = 0, high = 0;
};

/// Points and lines over two axes.
struct Chart {
  std::string id;   ///< unique in the page
  std::string alt;  ///< description of the drawing
  int width = 440;  ///< in the drawing's coordinates; a smaller width makes its text larger
  Axis x = {}, y = {};
  std::vector<Curve> curves = {};
  std::vector<Mark> marks = {};
  std::vector<double> reference_lines = {};  ///< horizontal lines, at these y
  std::vector<double> upright_lines = {};    ///< vertical lines, at these x
  /// Behind the curves, each with a line in its middle.
  std::vector<std::vector<BandPoint>> bands = {};
  std::vector<Guide> guides = {};  ///< clipped by the axes
  bool tells_ends = true;          ///< chart_sentence() describes both ends
};

/// Returns a description of the chart for screen readers: `alt`, then the lowest and the highest
/// curve at both ends of the x axis.
std::string chart_sentence(const Chart& chart);

/// Returns the chart as an `<svg>` element, or "" when no point can be drawn (values that are not
/// finite, or not positive on a logarithmic axis, are left out). @throws RunError as run_gnuplot()
std::string draw_chart(const Chart& chart);

/// A point of a DotChart.
struct Dot {
  std::string name;  ///< plain text
  std::size_t style = 0;
  double x = 0, y = 0;
  std::optional<Interval> x_interval = {}, y_interval = {};
  bool is_trusted = true;  ///< else hollow and grey, and never on the front
  std::string tooltip = {};
};

/// A scatter plot over two axes, such as cost against quality of compressors.
struct DotChart {
  std::string id;
  std::string alt;  ///< description of the drawing
  Axis x, y;
  std::vector<Dot> dots = {};
  bool has_front = false;     ///< the Pareto front as a dashed line of steps
  bool has_diagonal = false;  ///< y = x, dashed
  int width = 440;
};

/// Returns the Pareto front in ascending order of x: the trusted dots that no other trusted dot
/// dominates. A dot dominates another if it is not higher in either coordinate and lower in at
/// least one.
std::vector<const Dot*> pareto_front(const std::vector<Dot>& dots);

/// Returns the dots as a chart in which no lines join them. If the Pareto front is drawn, the
/// chart's description names the dots on the front.
Chart dots_chart(const DotChart& dots);

struct BarPart {
  double length = 0;
  std::string tooltip = {};     ///< plain text
  std::optional<int> ink = {};  ///< Ink; by the part's index in the bar if unset
  bool is_gap = false;          ///< nothing is drawn
  std::string name = {};        ///< plain text, for the drawing's data
  std::string letter = {};      ///< drawn where the part is wide enough
};

struct Bar {
  std::string label;  ///< plain text
  std::string total;  ///< text at the bar's end
  bool is_trusted = true;
  std::vector<BarPart> parts;  ///< lengths >= 0
};

/// Horizontal stacked bars, such as the parts of a step with one bar per compressor.
struct BarChart {
  std::string id;
  std::string alt;
  std::string label;  ///< of the axis
  std::string (*format)(double) = nullptr;
  std::vector<Bar> bars = {};
};

/// Returns the bars as an `<svg>` element, or "" when no part but gaps has a positive length.
std::string draw_bars(const BarChart& chart);

struct BoxRow {
  std::string label;  ///< plain text
  std::size_t style = 0;
  double middle = 0;                 ///< the marker
  std::optional<Interval> box = {};  ///< a box; the marker's interval where `whiskers` is empty
  std::optional<Interval> whiskers = {};
  bool is_trusted = true;  ///< else hollow and grey
  std::string tooltip = {};
};

/// Rows of markers with intervals, or of boxes with whiskers, over one axis.
struct BoxChart {
  std::string id;
  std::string alt;  ///< description of the drawing
  Axis axis;
  std::vector<double> reference_lines = {};  ///< vertical lines, at these values
  std::vector<BoxRow> rows = {};             ///< from the top
  int width = 440;
};

/// Returns the rows as an `<svg>` element, or "" when none can be drawn (values that are not
/// finite, or not positive on a logarithmic axis, are left out). @throws RunError as run_gnuplot()
std::string draw_boxes(const BoxChart& chart);

}  // namespace thinpipe
