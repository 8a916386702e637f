// Drawings before they are drawn: charts of points and lines over two axes, scattered dots, stacked
// bars and rows of boxes.
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

/// Points and lines over two axes: most figures.
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

/// Describes the chart in a sentence after `alt`: what lies lowest and highest at both ends of the
/// x axis, by the curves' names.
std::string chart_sentence(const Chart& chart);

/// The chart as an `<svg>` element, or "" when no point can be drawn (values that are not finite,
/// or not positive on a logarithmic axis, are left out). Throws RunError as run_gnuplot() does.
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

/// Scattered points over two axes, such as what a compressor costs against what it keeps.
struct DotChart {
  std::string id;
  std::string alt;  ///< what the drawing shows, in words
  Axis x, y;
  std::vector<Dot> dots;
  bool has_front = false;     ///< the Pareto front as a dashed line of steps
  bool has_diagonal = false;  ///< where y = x, dashed
  int width = 440;
};

/// The trusted dots for which no other is as low in one coordinate and lower in the other;
/// ascending in x.
std::vector<const Dot*> pareto_front(const std::vector<Dot>& dots);

/// The dots as a chart without lines. With a front its sentence names who lies on it.
Chart dots_chart(const DotChart& dots);

struct BarPart {
  double length = 0;
  std::string tooltip = {};     ///< plain text
  std::optional<int> ink = {};  ///< Ink; without one that of its place in the bar
  bool is_gap = false;          ///< nothing is drawn
  std::string name = {};        ///< plain text, for the data behind the drawing
  std::string letter = {};      ///< drawn where the part is wide enough
};

struct Bar {
  std::string label;  ///< plain text
  std::string total;  ///< what stands at the bar's end
  bool is_trusted = true;
  std::vector<BarPart> parts;  ///< lengths >= 0
};

/// Horizontal stacked bars: the parts of a step, one bar a compressor.
struct BarChart {
  std::string id;
  std::string alt;
  std::string label;  ///< of the axis
  std::string (*format)(double) = nullptr;
  std::vector<Bar> bars;
};

/// The bars as an `<svg>` element, or "" when there is none of positive length.
std::string draw_bars(const BarChart& chart);

struct BoxRow {
  std::string label;  ///< plain text
  std::size_t style = 0;
  double middle = 0;                 ///< the marker
  std::optional<Interval> box = {};  ///< a box, or with `whiskers` empty the marker's interval
  std::optional<Interval> whiskers = {};
  bool is_trusted = true;  ///< else hollow and grey
  std::string tooltip = {};
};

/// Rows of markers with intervals, or of boxes with whiskers, over one axis.
struct BoxChart {
  std::string id;
  std::string alt;  ///< what the drawing shows, in words
  Axis axis;
  std::vector<double> reference_lines;  ///< upright ones, at these values
  std::vector<BoxRow> rows;             ///< from the top
  int width = 440;
};

/// The rows as an `<svg>` element, or "" when none can be drawn (what is not finite, or not
/// positive on a logarithmic axis, is left out). @throws RunError as run_gnuplot()
std::string draw_boxes(const BoxChart& chart);

}  // namespace thinpipe
