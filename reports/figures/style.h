// One colour and one marker per compressor, the same in every figure, legend and table.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thinpipe {

/// The colours of drawings. In the finished SVG they are CSS variables (`var(--s1)`), so that one
/// drawing fits light and dark pages. gnuplot draws with stand-in colours, which finish_svg()
/// replaces with these variables.
enum class Ink {
  kSeries = 0,  ///< kSeries + 0 is `none`; 1…kSeriesColours are the compressors
  kGrid = 16,
  kMuted = 17,  ///< untrusted points, reference lines
  kPart = 24,   ///< kPart + 0…4: the parts of a step
};

inline constexpr std::size_t kSeriesColours = 7;
inline constexpr std::size_t kParts = 5;

/// Returns the Ink (colour) of a series with this style, as a number. If there are more styles than
/// colours, some share a colour and differ in the marker: 7 colours and 6 markers make 42 pairs.
int series_ink(std::size_t style);
int part_ink(std::size_t part);

std::string stand_in(int ink);      ///< "rgb '#0102..'", for gnuplot's `linecolor`
std::string css_variable(int ink);  ///< "--s1"

/// Returns a square in the colour of a part with its letter, as markup for legends.
std::string part_swatch(std::size_t part, std::string_view letter);

/// Returns the dashes of a style's line as gnuplot's `dashtype`; styles of one colour differ in
/// them.
std::string gnuplot_dash(std::size_t style);

/// Returns gnuplot's point type of a style: filled for trusted points, hollow for untrusted ones.
int point_type(std::size_t style, bool filled);

/// Returns the same marker as inline SVG of 14 x 14 px, for legends and tables.
std::string marker_svg(std::size_t style);

/// Returns the marker on a short dashed line, 28 x 14 px, for legends of curves.
std::string line_marker_svg(std::size_t style);

/// The style of a reference line. It has the ink of `none`, which no fitted line has.
inline constexpr std::size_t kReferenceStyle = 0;

/// Returns a short line with the colour and the dashes of a style, 28 x 14 px, for legends of
/// curves without markers.
std::string line_svg(std::size_t style);

// Labels of ticks.
std::string format_tick(double value);  ///< "0.02", "1e-4", "1e5": short at every power of ten
std::string format_step(double value);  ///< a whole number

}  // namespace thinpipe
