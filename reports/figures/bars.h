// Horizontal stacked bars: the parts of a step, one bar a compressor.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace thinpipe {

struct BarPart {
  double length = 0;
  std::string tooltip = {};     ///< plain text
  std::optional<int> ink = {};  ///< Ink; without one that of its place in the bar
  bool is_gap = false;          ///< nothing is drawn
  std::string name = {};        ///< plain text, for the data behind the drawing
  std::string letter = {};      ///< drawn where the part is wide enough
};

struct Bar {
  std::string label;  ///< plain text
  std::string total;  ///< what stands at the bar's end
  bool is_trusted = true;
  std::vector<BarPart> parts;  ///< lengths >= 0
};

struct BarChart {
  std::string id;
  std::string alt;
  std::string label;  ///< of the axis
  std::string (*format)(double) = nullptr;
  std::vector<Bar> bars;
};

/// What is seen, in a sentence after `alt`: which bars are shortest and longest.
std::string bar_sentence(const BarChart& chart);

/// The bars as an `<svg>` element, or "" when there is none of positive length.
std::string draw_bars(const BarChart& chart);

}  // namespace thinpipe
