// Figures cut out of pages.
#include "reports/page/standalone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "reports/figures/figure.h"
#include "reports/figures/style.h"
#include "reports/page/html.h"
#include "tests/reports/markup.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string drawing(int width) {
  return "<svg class=\"chart\" viewBox=\"0 0 " + std::to_string(width) +
         " 100\" role=\"img\" aria-label=\"a drawing\"><path d=\"M0,0\" stroke=\"var(--s1)\"/><g "
         "class=\"overlay\"><text x=\"1\" y=\"2\">label</text></g></svg>";
}

std::string page_with_figures() {
  const Figure two{"g0-speed-up",
                   "Speed-up",
                   "what is drawn",
                   {{line_marker_svg(1), "topk &"}, {part_swatch(2, "E"), "exchange"}},
                   {{"4 <ranks>", drawing(400)}, {"", drawing(440)}}};
  const Figure one{"g0-parts", "Parts", "", {}, {{"", drawing(400)}}};
  return html::document("x", html::figures({two, one}, {"thinpipe run"}));
}

TEST(Standalone, NamesFiguresInThePagesOrder) {
  EXPECT_THAT(html::figure_names(page_with_figures()), ElementsAre("g0-speed-up", "g0-parts"));
  EXPECT_TRUE(html::figure_names(html::document("x", "<h1>none</h1>")).empty());
}

TEST(Standalone, IsOneDocumentWithAllDrawingsAndTheLegend) {
  const std::string svg = html::standalone_svg(page_with_figures(), "g0-speed-up");
  EXPECT_EQ(sample::check_markup(svg).error, "") << svg;
  EXPECT_THAT(svg, HasSubstr("xmlns=\"http://www.w3.org/2000/svg\""));
  // Two drawings beside each other, each in the room of the wider, a gap and a margin.
  EXPECT_THAT(svg, HasSubstr("width=\"912\""));
  EXPECT_THAT(svg, HasSubstr("4 &lt;ranks&gt;"));
  EXPECT_THAT(svg, HasSubstr("topk &amp;"));
  EXPECT_THAT(svg, HasSubstr(">E</text>"));
  EXPECT_THAT(svg, HasSubstr("exchange"));
}

TEST(Standalone, HasColoursInPlaceOfVariables) {
  const std::string svg = html::standalone_svg(page_with_figures(), "g0-parts");
  EXPECT_THAT(svg, Not(HasSubstr("var(")));
  EXPECT_THAT(svg, HasSubstr("stroke=\"#"));
}

std::string complaint_about(const std::string& page, const std::string& name) {
  try {
    return "found " + html::figure_called(page, name);
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(Standalone, AnUnknownNameSaysWhichThereAre) {
  EXPECT_EQ(complaint_about(page_with_figures(), "part"),
            "no figure 'part' in this report; it has g0-speed-up, g0-parts");
}

TEST(Standalone, TheGroupNeedNotBeNamedWhereThereIsOne) {
  EXPECT_EQ(complaint_about(page_with_figures(), "parts"), "found g0-parts");
  EXPECT_EQ(html::standalone_svg(page_with_figures(), "parts"),
            html::standalone_svg(page_with_figures(), "g0-parts"));
  const std::string two = "<figure id=\"g0-parts\"><figure id=\"g1-parts\">";
  EXPECT_EQ(complaint_about(two, "parts"), "'parts' could be g0-parts, g1-parts of this report");
  EXPECT_EQ(complaint_about(two, "g1-parts"), "found g1-parts");
}

}  // namespace

}  // namespace thinpipe
