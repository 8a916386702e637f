// From gnuplot's SVG to a drawing that lives inside an HTML page beside others.
#pragma once

#include <string>
#include <string_view>

namespace thinpipe {

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
