// One colour and one marker a compressor, the same in every figure, legend and table.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thinpipe {

/// Colours are CSS variables (`var(--s1)`), so that one drawing serves light and dark pages.
/// gnuplot draws them as stand-in colours, which finish_svg() exchanges.
enum class Ink {
  kSeries = 0,  ///< kSeries + 0 is `none`; 1…kSeriesColours are the compressors
  kGrid = 16,
  kMuted = 17,  ///< points that are not to be trusted, reference lines
  kPart = 24,   ///< kPart + 0…4: the parts of a step
};

inline constexpr std::size_t kSeriesColours = 7;
inline constexpr std::size_t kParts = 5;

/// The number of the ink of a series' colour. Styles beyond the palette share colours and then
/// differ by marker: 7 colours and 6 markers make 42 pairs.
int series_ink(std::size_t style);
int part_ink(std::size_t part);

std::string stand_in(int ink);      ///< "rgb '#0102..'", for gnuplot's `linecolor`
std::string css_variable(int ink);  ///< "--s1"

/// A square in the colour of a part with its letter, as markup for legends.
std::string part_swatch(std::size_t part, std::string_view letter);

/// How a style's line is dashed, as gnuplot's `dashtype`: styles of one colour differ by it, too.
std::string gnuplot_dash(std::size_t style);

/// gnuplot's point type of a style: filled for a trusted point, hollow for one that is not.
int point_type(std::size_t style, bool filled);

/// The same marker as inline SVG of 14 x 14 px, for legends and tables.
std::string marker_svg(std::size_t style);

/// The marker on a piece of its dashed line, 28 x 14 px, for legends of curves.
std::string line_marker_svg(std::size_t style);

/// The style of a line to compare with: the ink of `none`, which no fit has.
inline constexpr std::size_t kReferenceStyle = 0;

/// A piece of a line in a style's colour, 14 x 14 px.
std::string line_svg(std::size_t style);

// Labels of ticks.
std::string format_tick(double value);  ///< "0.02", "1e-4", "1e5": short at every power of ten
std::string format_step(double value);  ///< a whole number

}  // namespace thinpipe
