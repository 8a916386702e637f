#include "workloads/data/glyphs.h"

#include <array>
#include <cmath>
#include <cstdlib>

namespace thinpipe {

namespace {

// Part of an ellipse, angles in degrees from the positive x axis towards positive y (clockwise as
// seen, because y points down), in steps of about 15 degrees.
Stroke arc(GlyphPoint centre, double rx, double ry, double from, double to) {
  constexpr double kDegree = 3.14159265358979323846 / 180;
  const int steps = std::max(2, static_cast<int>(std::fabs(to - from) / 15));
  Stroke stroke;
  for (int i = 0; i <= steps; ++i) {
    const double angle = (from + (to - from) * i / steps) * kDegree;
    stroke.push_back({centre.x + rx * std::cos(angle), centre.y + ry * std::sin(angle)});
  }
  return stroke;
}

Stroke join(Stroke first, const Stroke& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::array<std::vector<Stroke>, 10> make_digits() {
  return {{
      {arc({0.5, 0.5}, 0.26, 0.4, 0, 360)},
      {{{0.35, 0.25}, {0.53, 0.1}, {0.53, 0.9}}},
      {join(arc({0.5, 0.32}, 0.25, 0.22, -170, 35), {{0.24, 0.88}, {0.78, 0.88}})},
      {join(arc({0.48, 0.3}, 0.24, 0.2, -150, 90), arc({0.48, 0.69}, 0.27, 0.2, -90, 150))},
      {{{0.62, 0.9}, {0.62, 0.1}, {0.22, 0.62}, {0.8, 0.62}}},
      {join({{0.75, 0.12}, {0.32, 0.12}, {0.29, 0.46}}, arc({0.48, 0.64}, 0.27, 0.24, -120, 150))},
      {join(arc({0.68, 0.5}, 0.42, 0.42, -95, -180), arc({0.51, 0.66}, 0.25, 0.22, 180, -180))},
      {{{0.22, 0.13}, {0.77, 0.13}, {0.42, 0.9}}},
      {arc({0.5, 0.3}, 0.2, 0.19, 90, 450), arc({0.5, 0.69}, 0.25, 0.2, -90, 270)},
      {join(arc({0.48, 0.34}, 0.24, 0.22, 0, -360), {{0.72, 0.34}, {0.68, 0.62}, {0.55, 0.9}})},
  }};
}

}  // namespace

const std::vector<Stroke>& digit_strokes(std::size_t digit) {
  static const auto kDigits = make_digits();
  return kDigits.at(digit);
}

}  // namespace thinpipe
