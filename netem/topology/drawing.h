// A topology for people: as text of 80 columns, and as SVG.
#pragma once

#include <string>
#include <vector>

#include "netem/topology/topology.h"

namespace thinpipe {

/// UTF-8, ends with a line end: the switches with what hangs on them, the links between them, and
/// what TCP can get at most between pairs of hosts and when all send at once.
std::string draw_as_text(const Topology& topology);

/// A whole SVG file that follows the viewer's light or dark colours. Switches stand inside, hosts
/// around them; links of one colour are alike, and the thicker ones are faster.
std::string draw_as_svg(const Topology& topology);

/// A link in a line: `100mbit, delay 10ms`.
std::string link_in_words(const LinkSpec& link);

/// A place in the SVG, in pixels; x to the right, y down.
struct Spot {
  double x = 0, y = 0;
};

/// Where the SVG has everything, by index of host and switch; the middle of the hosts' circle is at
/// 0,0.
struct Layout {
  std::vector<Spot> hosts, switches;
};

inline constexpr double kSwitchHeight = 30;

Layout lay_out(const Topology& topology);

}  // namespace thinpipe
