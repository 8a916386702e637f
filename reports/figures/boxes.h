// Rows of markers with intervals, or of boxes with whiskers, over one axis.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reports/figures/chart.h"
#include "reports/statistics/interval.h"

namespace thinpipe {

struct BoxRow {
  std::string label;  ///< plain text
  std::size_t style = 0;
  double middle = 0;                 ///< the marker
  std::optional<Interval> box = {};  ///< a box, or with `whiskers` empty the marker's interval
  std::optional<Interval> whiskers = {};
  bool is_trusted = true;  ///< else hollow and grey
  std::string tooltip = {};
};

struct BoxChart {
  std::string id;
  std::string alt;  ///< what the drawing shows, in words
  Axis axis;
  std::vector<double> reference_lines;  ///< upright ones, at these values
  std::vector<BoxRow> rows;             ///< from the top
  int width = 440;
};

/// What is seen, in a sentence after `alt`: which rows lie lowest and highest.
std::string box_sentence(const BoxChart& chart);

/// The rows as an `<svg>` element, or "" when none can be drawn (what is not finite, or not
/// positive on a logarithmic axis, is left out). @throws RunError as run_gnuplot()
std::string draw_boxes(const BoxChart& chart);

}  // namespace thinpipe
