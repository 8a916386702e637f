// Scattered points over two axes, such as what a compressor costs against what it keeps.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reports/figures/chart.h"

namespace thinpipe {

struct Dot {
  std::string name;  ///< plain text
  std::size_t style = 0;
  double x = 0, y = 0;
  std::optional<Interval> x_interval = {}, y_interval = {};
  bool is_trusted = true;  ///< else hollow and grey, and never on the front
  std::string tooltip = {};
};

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

}  // namespace thinpipe
