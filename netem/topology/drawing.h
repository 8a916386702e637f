// Drawings of a topology: as text of 80 columns, and as SVG.
#pragma once

#include <string>
#include <vector>

#include "netem/topology/topology.h"

namespace thinpipe {

/// Returns the drawing as UTF-8 text that ends with a newline: the switches with their hosts, the
/// links between switches, and the highest TCP goodput between pairs of hosts and with all hosts
/// sending at once.
std::string draw_as_text(const Topology& topology);

/// Returns an SVG file, which follows the viewer's light or dark colours. Switches are inside a
/// circle of hosts. Links with equal settings have one colour, and faster links are thicker.
std::string draw_as_svg(const Topology& topology);

/// Returns a link in one line: `100mbit, delay 10ms`.
std::string link_in_words(const LinkSpec& link);

/// A position in the SVG, in pixels; x to the right, y down.
struct Spot {
  double x = 0, y = 0;
};

/// Positions in the SVG, by index of host and switch. The centre of the hosts' circle is at 0,0.
struct Layout {
  std::vector<Spot> hosts, switches;
};

inline constexpr double kSwitchHeight = 30;

Layout lay_out(const Topology& topology);

}  // namespace thinpipe
