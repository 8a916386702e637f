// The drawing's size, the plot's box in it and the way from values to pixels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/figures/chart.h"
#include "reports/figures/ticks.h"

namespace thinpipe {

/// Pixels between the drawing's edge and the plot's box.
struct Margins {
  int left, right, top, bottom;
};

struct Scale {
  Range range;
  bool is_log = false;
};

/// gnuplot is told where the plot's box lies, so this class can place tooltips and text in the same
/// coordinates without asking it back.
class Canvas {
 public:
  Canvas(int width, int height, Margins margins, Scale x, Scale y);

  double x(double value) const;
  double y(double value) const;
  double right() const { return width_ - margins_.right; }

  /// The part of the script that all figures share: terminal, box, border, grid.
  std::string script() const;

  /// `label` at the top left, in place of a rotated axis label. Escaped here.
  std::string title_text(std::string_view label) const;

 private:
  int width_, height_;
  Margins margins_;
  Scale x_, y_;
};

/// What follows `set xtics`: the ticks with their labels.
std::string tick_list(const std::vector<double>& ticks, std::string (*format)(double));

/// Range, ticks and scale of the axis `name`, 'x' or 'y'.
std::string axis_script(const Axis& axis, const Range& range, char name);

/// A dashed upright line through the box at `x`.
std::string upright_line(double x);

}  // namespace thinpipe
