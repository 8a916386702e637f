// Colours and markers.
#include "reports/figures/style.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

struct Marker {
  int filled, hollow;  // gnuplot's point types
  const char* shape;   // the same outline as in gnuplot's SVG terminal, radius 1
};

constexpr std::array<Marker, 6> kMarkers = {{
    {7, 6, "<circle r='1'/>"},
    {5, 4, "<rect x='-1' y='-1' width='2' height='2'/>"},
    {9, 8, "<path d='M0,-1.33 L-1.33,0.67 L1.33,0.67 z'/>"},
    {13, 12, "<rect x='-1' y='-1' width='2' height='2' transform='rotate(45)'/>"},
    {11, 10, "<path d='M0,1.33 L-1.33,-0.67 L1.33,-0.67 z'/>"},
    {15, 14, "<path d='M0,-1.33 L-1.265,-0.411 L-0.782,1.067 L0.782,1.067 L1.265,-0.411 z'/>"},
}};

// Dash patterns of curves: lengths of strokes and gaps in gnuplot's units, each about a pixel in
// the SVG terminal. Five patterns and seven colours make 35 different pairs before a pair is used
// again.
constexpr std::array<const char*, 5> kDashes = {"1", "(14,5)", "(5,4)", "(14,4,3,4)", "(2,4)"};
// The same dash patterns for the lines in legends, which are 6.4 SVG units long. The SVG attribute
// pathLength would make this shorter, but some SVG renderers ignore it.
constexpr std::array<const char*, 5> kSvgDashes = {"", "1.6,.57", ".57,.46", "1.6,.46,.34,.46",
                                                   ".23,.46"};

std::size_t dash_of(std::size_t style) { return style == 0 ? 0 : (style - 1) % kDashes.size(); }

}  // namespace

int series_ink(std::size_t style) {
  const std::size_t colour = style == 0 ? 0 : 1 + (style - 1) % kSeriesColours;
  return static_cast<int>(Ink::kSeries) + static_cast<int>(colour);
}

int part_ink(std::size_t part) { return static_cast<int>(Ink::kPart) + static_cast<int>(part); }

std::string stand_in(int ink) { return fmt::format("rgb '#0102{:02x}'", ink); }

std::string css_variable(int ink) {
  if (ink == static_cast<int>(Ink::kGrid)) return "--grid";
  if (ink == static_cast<int>(Ink::kMuted)) return "--muted";
  if (ink >= static_cast<int>(Ink::kPart))
    return fmt::format("--p{}", ink - static_cast<int>(Ink::kPart));
  return fmt::format("--s{}", ink);
}

int point_type(std::size_t style, bool filled) {
  const Marker& marker = kMarkers[style % kMarkers.size()];
  return filled ? marker.filled : marker.hollow;
}

std::string marker_svg(std::size_t style) {
  return fmt::format(
      "<svg class='marker' viewBox='-1.6 -1.6 3.2 3.2' width='14' height='14' aria-hidden='true' "
      "fill='var({})'>{}</svg>",
      css_variable(series_ink(style)), kMarkers[style % kMarkers.size()].shape);
}

std::string gnuplot_dash(std::size_t style) { return kDashes[dash_of(style)]; }

std::string line_marker_svg(std::size_t style) {
  return fmt::format(
      "<svg class='marker' viewBox='-3.2 -1.6 6.4 3.2' width='28' height='14' aria-hidden='true' "
      "style='fill:var({0});stroke:var({0})'><path d='M-3.2,0 H3.2' stroke-width='.4' "
      "stroke-dasharray='{1}'/><g stroke='none' "
      "transform='scale(.85)'>{2}</g></svg>",
      css_variable(series_ink(style)), kSvgDashes[dash_of(style)],
      kMarkers[style % kMarkers.size()].shape);
}

std::string part_swatch(std::size_t part, std::string_view letter) {
  return fmt::format("<span class='swatch' aria-hidden='true' style='background:var({})'>{}</span>",
                     css_variable(part_ink(part)), letter);
}

std::string format_tick(double value) {
  const double magnitude = std::abs(value);
  if (magnitude == 0 || (magnitude >= 1e-3 && magnitude < 1e5)) return format_number(value);
  const double exponent = std::floor(std::log10(magnitude) + 1e-9);
  return fmt::format("{:.3g}e{:.0f}", value / std::pow(10.0, exponent), exponent);
}

std::string format_step(double value) { return fmt::format("{:.0f}", value); }

std::string line_svg(std::size_t style) {
  return fmt::format(
      "<svg class='marker' viewBox='-3.2 -1.6 6.4 3.2' width='28' height='14' aria-hidden='true' "
      "style='stroke:var({})'><path d='M-3.2,0 H3.2' stroke-width='.5' "
      "stroke-dasharray='{}'/></svg>",
      css_variable(series_ink(style)), kSvgDashes[dash_of(style)]);
}

}  // namespace thinpipe
