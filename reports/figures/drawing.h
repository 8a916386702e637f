// Shared by all drawings: ticks, the map from values to pixels, gnuplot and the SVG that it writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/figures/chart.h"

namespace thinpipe {

// Ranges and ticks are chosen here, so that drawing and tooltips agree on every pixel.

/// Shares of an axis that labels need: a line of text on an upright one, "100 ms" on a level one.
inline constexpr double kClosestTicks = 1.0 / 9;
inline constexpr double kClosestLevelTicks = 1.0 / 7;

struct Range {
  double low = 0;
  double high = 1;
};

/// The range of `values` with 6 % air on both sides (on a logarithmic axis: of the logarithms).
/// Equal values get room around them. At least one value; positive ones for a logarithmic axis.
Range padded_range(const std::vector<double>& values, bool is_log);

/// About `count` ticks at 1, 2 or 5 times a power of ten, all inside the range.
std::vector<double> linear_ticks(const Range& range, int count);

/// The same, but fewer where two neighbours would get the same label from `format`.
std::vector<double> readable_ticks(const Range& range, int count, std::string (*format)(double));

/// Powers of ten; with 2 and 5 between them where the range spans fewer than 3 decades.
/// Thinned so that neighbours are at least `closest` of the axis apart.
std::vector<double> log_ticks(const Range& range, double closest = kClosestTicks);

/// Those of `values` that lie inside the range and are far enough apart to be labelled.
std::vector<double> thinned(const std::vector<double>& values, const Range& range, bool is_log,
                            double closest = kClosestTicks);

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

/// The argument of `set xtics`: the ticks with their labels.
std::string tick_list(const std::vector<double>& ticks, std::string (*format)(double));

/// Range, ticks and scale of the axis `name`, 'x' or 'y'.
std::string axis_script(const Axis& axis, const Range& range, char name);

/// Finite, and positive on a logarithmic axis.
bool is_drawable(double value, const Axis& axis);

/// A dashed upright line through the box at `x`.
std::string upright_line(double x);

/// Runs gnuplot as a child process: feeds `script` to its standard input and returns what it wrote
/// to its standard output. No shell is involved and the user's gnuplot start-up files are not read.
/// Throws RunError when there is no gnuplot on PATH (saying what to install) or when it fails (with
/// its first complaint).
std::string run_gnuplot(const std::string& script);

/// The data of a `plot` command, a block and an entry for each way of drawing.
struct GnuplotBlocks {
  std::string blocks, commands;
  int count = 0;

  /// `rows` end in line ends; without any nothing is added. `how` is what follows the block's name:
  /// "using 1:2 with lines".
  void add(const std::string& rows, const std::string& how);
  /// The blocks and the command that plots them.
  std::string script() const { return blocks + "plot " + commands + "\n"; }
};

/// `text` as a gnuplot string literal: line ends become spaces, quotes typographic apostrophes.
std::string gnuplot_quoted(std::string_view text);

/// A drawing that lives inside an HTML page beside others.
struct SvgFrame {
  std::string id;  ///< unique in the page; letters, digits and hyphens
  int width = 0;   ///< of the drawing's own coordinates
  int height = 0;
  std::string alt;  ///< for readers that do not see; escaped here
};

/// Takes gnuplot's SVG and gives an `<svg>` element: ids made unique by the frame's id, stand-in
/// colours replaced by CSS variables, black by the page's ink, fonts left to the page, gnuplot's
/// titles dropped, `overlay` (well-formed SVG in the same coordinates) put on top.
/// Throws RunError when the input is not what gnuplot's SVG terminal writes.
std::string finish_svg(std::string_view gnuplot_svg, const SvgFrame& frame,
                       std::string_view overlay);

/// An invisible target with a native tooltip.
std::string tooltip_circle(double x, double y, std::string_view text);
std::string tooltip_box(double x, double y, double width, double height, std::string_view text);

}  // namespace thinpipe
