// The ten digits as strokes in a unit square.
#pragma once

#include <cstddef>
#include <vector>

namespace thinpipe {

/// x to the right, y down; a digit fills about 0.2..0.8 by 0.1..0.9.
struct GlyphPoint {
  double x = 0;
  double y = 0;
};

/// A polyline; curves are sampled finely enough for 32 pixels.
using Stroke = std::vector<GlyphPoint>;

/// The strokes of a digit, 0..9.
const std::vector<Stroke>& digit_strokes(std::size_t digit);

}  // namespace thinpipe
