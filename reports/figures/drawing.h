// Code of all drawings: ticks, the mapping from values to pixels, gnuplot and its SVG.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/figures/chart.h"

namespace thinpipe {

// Ranges and ticks are chosen by this code, so that drawing and tooltips agree on every pixel.

/// Minimum distances between ticks, as fractions of the axis, so that tick labels do not overlap.
/// The first is for a line of text on a vertical axis, the second for "100 ms" on a horizontal
/// axis.
inline constexpr double kClosestTicks = 1.0 / 9;
inline constexpr double kClosestLevelTicks = 1.0 / 7;

struct Range {
  double low = 0;
  double high = 1;
};

/// Returns the range of `values` with 6 % padding on both sides; on a logarithmic axis, 6 % of the
/// range of logarithms. A range of equal values is padded too; around 0 it is about 0.02 wide.
/// `values` needs at least one value, and only positive values for a logarithmic axis.
Range padded_range(const std::vector<double>& values, bool is_log);

/// Returns about `count` ticks at 1, 2 or 5 times a power of ten, all inside the range.
std::vector<double> linear_ticks(const Range& range, int count);

/// Returns the same, but fewer where `format` gives two neighbours the same label.
std::vector<double> readable_ticks(const Range& range, int count, std::string (*format)(double));

/// Returns ticks for a logarithmic axis: powers of ten and, if the range spans fewer than 3
/// decades, 2 and 5 times these powers. Adjacent ticks are at least the fraction `closest` of the
/// axis apart.
std::vector<double> log_ticks(const Range& range, double closest = kClosestTicks);

/// Returns the `values` inside the range that are far enough apart for labels.
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

/// Sets the position of the plot's box in gnuplot, so that tooltips and text share its coordinates.
class Canvas {
 public:
  Canvas(int width, int height, Margins margins, Scale x, Scale y);

  double x(double value) const;
  double y(double value) const;

  /// Returns the part of the script that all figures share: terminal, box, border, grid.
  std::string script() const;

  /// Returns `label` at the top left, in place of a rotated axis label. Escapes it.
  std::string title_text(std::string_view label) const;

 private:
  int width_, height_;
  Margins margins_;
  Scale x_, y_;
};

/// Returns the argument of `set xtics`: the ticks with their labels.
std::string tick_list(const std::vector<double>& ticks, std::string (*format)(double));

/// Returns the commands for range, ticks and scale of the axis `name`, 'x' or 'y'.
std::string axis_script(const Axis& axis, const Range& range, char name);

/// Returns whether the value is finite, and positive on a logarithmic axis.
bool is_drawable(double value, const Axis& axis);

/// Drops an interval with an end that cannot be drawn, but not for a low end of 0 or less on a
/// logarithmic axis: clip_low() gives it a position.
void drop_undrawable(std::optional<Interval>& interval, const Axis& axis);

/// Appends the ends of an interval that can be drawn to `values`.
void add_ends(const std::optional<Interval>& interval, const Axis& axis,
              std::vector<double>& values);

/// Moves a low end of 0 or less on a logarithmic axis to the low end of the axis.
void clip_low(std::optional<Interval>& interval, const Axis& axis, const Range& range);

/// Returns the command for a dashed vertical line through the box at `x`.
std::string upright_line(double x);

/// Runs gnuplot as a child process with `script` as its standard input and returns its standard
/// output. No shell is involved, and gnuplot reads no start-up files of the user.
/// @throws RunError when gnuplot is not on PATH (with the package to install) or fails (with its
/// first error)
std::string run_gnuplot(const std::string& script);

/// The data of a `plot` command: a block and an entry per drawing style.
struct GnuplotBlocks {
  std::string blocks, commands;
  int count = 0;

  /// Adds a data block with `rows`, in which every row ends with a line feed. `how` is the part of
  /// the plot command after the block's name: "using 1:2 with lines". Adds nothing if `rows` is
  /// empty.
  void add(const std::string& rows, const std::string& how);
  /// Returns the blocks and the command that plots them.
  std::string script() const { return blocks + "plot " + commands + "\n"; }
};

/// Returns `text` as a gnuplot string literal: line ends become spaces, quotes become typographic
/// apostrophes.
std::string gnuplot_quoted(std::string_view text);

/// The frame of a drawing in an HTML page with other drawings.
struct SvgFrame {
  std::string id;  ///< unique in the page; letters, digits and hyphens
  int width = 0;   ///< in the drawing's coordinates
  int height = 0;
  std::string alt;  ///< for screen readers; escaped by finish_svg()
};

/// Converts gnuplot's SVG to an `<svg>` element of a page. All ids get the frame's id as a prefix,
/// so that they are unique in the page. Stand-in colours become CSS variables, and black becomes
/// the page's text colour. Fonts and titles are dropped; the page sets the fonts. `overlay`
/// (well-formed SVG in the same coordinates) is drawn on top.
/// @throws RunError when the input is not from gnuplot's SVG terminal
std::string finish_svg(std::string_view gnuplot_svg, const SvgFrame& frame,
                       std::string_view overlay);

/// Returns an invisible target with a native tooltip.
std::string tooltip_circle(double x, double y, std::string_view text);
std::string tooltip_box(double x, double y, double width, double height, std::string_view text);

}  // namespace thinpipe
