// Elements of pages, figures cut out of them, and the phrases in both.
#include "reports/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <regex>
#include <string>

#include "base/error.h"
#include "reports/figures/figure.h"
#include "reports/figures/style.h"
#include "reports/text/phrases.h"
#include "reports/text/provenance.h"
#include "tests/base/support.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Table small_table() {
  Table table{{"compressor", "step, s", "again"}, 1, {}};
  table.rows = {{{"a \"b\""}, {"1.5 ms", "1 to 2", 0.0015}, {.text = "", .command = "run 'x y'"}},
                {{"<c>"}, {kAbsent}, {kAbsent}}};
  return table;
}

TEST(HtmlTable, OffersFacetsAndCommands) {
  Table table = small_table();
  EXPECT_THAT(html::table(table, "t", true), Not(HasSubstr("data-facets")));
  table.facets = {0, 2};
  const std::string text = html::table(table, "t", true);
  EXPECT_THAT(text, HasSubstr("data-facets=\"0 2\""));
  EXPECT_THAT(text, HasSubstr("<summary>command</summary><pre><code>run &#39;x y&#39;</code>"));
  EXPECT_THAT(text, HasSubstr("&lt;c&gt;"));
}

TEST(TableCsv, HasNumbersInBaseUnitsAndDetailsBesideThem) {
  EXPECT_EQ(table_csv(small_table()),
            "compressor,\"step, s\",\"step, s, more\",again\n"
            "\"a \"\"b\"\"\",0.0015,1 to 2,run 'x y'\n"
            "<c>,,,\n");
}

// Seven rates of ten columns each, two blanks before each, beside a name of ten columns: five rates
// take 70 of 80 columns.
TEST(PlainText, ContinuesBelowWhereItIsTooWide) {
  Table table{{"compressor"}};
  table.beside = "vs fp32";
  std::vector<TableCell> row = {{"topk"}};
  for (int rate = 1; rate <= 7; ++rate) {
    table.columns.push_back(std::to_string(100 * rate) + " Mbit/s");
    row.push_back({std::to_string(rate) + "\xc3\x97 / " + std::to_string(10 * rate) + "\xc3\x97"});
  }
  table.rows = {row};
  EXPECT_EQ(plain_text(table),
            "compressor  100 Mbit/s  200 Mbit/s  300 Mbit/s  400 Mbit/s  500 Mbit/s\n"
            "topk                1\xc3\x97          2\xc3\x97          3\xc3\x97          4\xc3\x97"
            "          5\xc3\x97\n"
            "  vs fp32          10\xc3\x97         20\xc3\x97         30\xc3\x97         40\xc3\x97"
            "         50\xc3\x97\n"
            "\n"
            "compressor  600 Mbit/s  700 Mbit/s\n"
            "topk                6\xc3\x97          7\xc3\x97\n"
            "  vs fp32          60\xc3\x97         70\xc3\x97\n");
  table.columns.resize(6);
  table.rows[0].resize(6);
  EXPECT_THAT(plain_text(table), Not(HasSubstr("\n\n")));
}

TEST(HtmlFigure, HasItsDataWhereThereIsAny) {
  Figure figure{"f", "F", "what", {}, {{"", "<svg></svg>"}}};
  EXPECT_THAT(html::figure(figure, {}), Not(HasSubstr("Data (CSV")));
  figure.data = "p,a<b,1,2,,,yes\n";
  figure.axes = {"x time, y rate"};
  const std::string text = html::figure(figure, {});
  EXPECT_THAT(text, HasSubstr("<summary>Data (CSV: x time, y rate)</summary>"));
  EXPECT_THAT(text, HasSubstr(std::string("<code>") + kFigureDataColumns + "\np,a&lt;b,1,2"));
}

TEST(HtmlDocument, LetsAKeyboardSkipToTheContent) {
  const std::string page = html::document("a < b", "<h1>x</h1>");
  EXPECT_THAT(page, HasSubstr("<a class=\"skip\" href=\"#content\">"));
  EXPECT_THAT(page, HasSubstr("<main id=\"content\""));
  EXPECT_THAT(page, HasSubstr("<title>a &lt; b</title>"));
}

// Colours that are used together can be distinguished (WCAG 2.1, 1.4.3 and 1.4.11).

using Palette = std::map<std::string, std::string>;  // "--ink" -> "1b1f24"

std::string full_hex(const std::string& hex) {
  if (hex.size() == 6) return hex;
  return {hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]};
}

// The variables of the rule that begins at `from`.
Palette palette_at(const std::string& style, std::size_t from) {
  const std::string rule = style.substr(from, style.find('}', from) - from);
  static const std::regex kVariable("(--[a-z0-9]+):#([0-9a-f]{6}|[0-9a-f]{3})(?![0-9a-f])");
  Palette palette;
  for (auto match = std::sregex_iterator(rule.begin(), rule.end(), kVariable);
       match != std::sregex_iterator(); ++match)
    palette[(*match)[1]] = full_hex((*match)[2]);
  return palette;
}

// Relative luminance of sRGB as WCAG 2.1 defines it.
double luminance(const std::string& hex) {
  const auto channel = [&](std::size_t at) {
    const double value = std::stoi(hex.substr(at, 2), nullptr, 16) / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4);
}

double contrast(const std::string& a, const std::string& b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

void expect_readable(const Palette& palette, const std::string& name) {
  for (const char* text : {"--ink", "--soft", "--faint", "--link"})
    for (const char* ground : {"--page", "--panel"})
      EXPECT_GE(contrast(palette.at(text), palette.at(ground)), 4.5)
          << name << ": " << text << " on " << ground;
  for (const char* text : {"--ink", "--soft"})
    EXPECT_GE(contrast(palette.at(text), palette.at("--best")), 4.5) << name << ": " << text;
  for (int part = 0; part < 5; ++part)
    EXPECT_GE(contrast(palette.at("--letter"), palette.at("--p" + std::to_string(part))), 4.5)
        << name << ": letter on part " << part;
  // Drawings need less contrast than text.
  for (const auto& [variable, colour] : palette) {
    const bool is_drawn =
        std::regex_match(variable, std::regex("--[sp][0-9]")) || variable == "--muted";
    if (!is_drawn) continue;
    for (const char* ground : {"--page", "--panel"})
      EXPECT_GE(contrast(colour, palette.at(ground)), 3)
          << name << ": " << variable << " on " << ground;
  }
}

TEST(Style, ColoursHaveContrast) {
  EXPECT_NEAR(contrast("000000", "ffffff"), 21, 1e-9);
  const std::string style = html::style();
  const Palette light = palette_at(style, style.find(":root{"));
  ASSERT_EQ(light.count("--letter"), 1u);
  expect_readable(light, "light");
  const std::size_t dark_at = style.find("@media screen and (prefers-color-scheme:dark)");
  ASSERT_NE(dark_at, std::string::npos);
  const Palette dark = palette_at(style, style.find(":root{", dark_at));
  for (const auto& [variable, colour] : light) EXPECT_EQ(dark.count(variable), 1u) << variable;
  expect_readable(dark, "dark");
  Palette print = light;  // dark colours are for screens alone
  for (const auto& [variable, colour] : palette_at(style, style.find("@media print")))
    print[variable] = colour;
  expect_readable(print, "print");
}

TEST(Style, NamesNoOtherColour) {
  const std::string style = html::style();
  const std::size_t rules = style.find("*{box-sizing");
  const std::string rest = style.substr(rules, style.find("@media print") - rules);
  EXPECT_FALSE(std::regex_search(rest, std::regex("#[0-9a-f]{3}")));
}

// Figures cut out of pages.

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
  // Two drawings beside each other, each as wide as the wider, a gap and a margin.
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
  return input_error([&] { html::figure_called(page, name); });
}

TEST(Standalone, AnUnknownNameSaysWhichThereAre) {
  EXPECT_EQ(complaint_about(page_with_figures(), "part"),
            "no figure 'part' in this report; it has g0-speed-up, g0-parts");
}

TEST(Standalone, TheGroupNeedNotBeNamedWhereThereIsOne) {
  EXPECT_EQ(html::figure_called(page_with_figures(), "parts"), "g0-parts");
  EXPECT_EQ(html::standalone_svg(page_with_figures(), "parts"),
            html::standalone_svg(page_with_figures(), "g0-parts"));
  const std::string two = "<figure id=\"g0-parts\"><figure id=\"g1-parts\">";
  EXPECT_EQ(complaint_about(two, "parts"),
            "figure 'parts' is ambiguous in this report: g0-parts, g1-parts");
  EXPECT_EQ(html::figure_called(two, "g1-parts"), "g1-parts");
}

// Units, labels, escapes: the text that a person reads.

TEST(Units, ThreeSignificantDigits) {
  EXPECT_EQ(format_number(0), "0");
  EXPECT_EQ(format_number(2.0), "2");
  EXPECT_EQ(format_number(0.12345), "0.123");
  EXPECT_EQ(format_number(12.345), "12.3");
  EXPECT_EQ(format_number(1234.5), "1234");  // digits before the point are never dropped
  EXPECT_EQ(format_number(0.9999), "1");     // rounds up to the next decade
  EXPECT_EQ(format_number(9.999), "10");
  EXPECT_EQ(format_number(-0.5), "-0.5");
  EXPECT_EQ(format_number(1e-7), "1.00e-07");
  EXPECT_EQ(format_number(std::nan("")), "not a number");
}

TEST(Units, Percent) { EXPECT_EQ(format_percent(0.123), "12.3 %"); }

TEST(Labels, SayWhatTellsSpecsApart) {
  EXPECT_THAT(short_labels({"none", "topk:memory=residual,ratio=0.1",
                            "topk:memory=residual,ratio=0.01", "3lc:s=1.75"}),
              ElementsAre("none", "topk ratio=0.1", "topk ratio=0.01", "3lc"));
  EXPECT_THAT(short_labels({"topk", "topk:ratio=0.1"}), ElementsAre("topk", "topk ratio=0.1"));
}

TEST(Labels, AreNeverShared) {
  // Both have the same parameters, so none would be worth writing.
  EXPECT_THAT(short_labels({"a:x=1,y=2", "a:y=2,x=1"}), ElementsAre("a:x=1,y=2", "a:y=2,x=1"));
}

TEST(Lists, ReadAsEnglish) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({"a"}), "a");
  EXPECT_EQ(listed({"a", "b"}), "a and b");
  EXPECT_EQ(listed({"a", "b", "c", "d", "e"}), "a, b, c, d and e");
  EXPECT_EQ(listed({"a", "b", "c", "d", "e", "f", "g"}), "a, b, c, d and 3 others");
}

TEST(Escape, Markdown) {
  EXPECT_EQ(escape_markdown("a|b\n# *c* `d` [e](f) <g>"),
            "a\\|b \\# \\*c\\* \\`d\\` \\[e\\](f) &lt;g&gt;");
  EXPECT_THAT(escape_markdown("see http://a.example"), Not(HasSubstr("://")));
}

TEST(Provenance, FlattensNestedObjects) {
  const NamedValues values = flattened({{"a", {{"b", 1}, {"c", "x"}}}, {"d", {1, 2}}});
  EXPECT_THAT(values, ElementsAre(std::pair<std::string, std::string>("a.b", "1"),
                                  std::pair<std::string, std::string>("a.c", "x"),
                                  std::pair<std::string, std::string>("d", "[1,2]")));
}

TEST(Provenance, CommandsAreDistinct) {
  Records records;
  records.file = "out/records.jsonl";
  records.headers = {sample::header(), sample::header()};
  EXPECT_THAT(
      reproduce_commands(records),
      ElementsAre("thinpipe run --trace 'synthetic trace' --ranks 4", "thinpipe report out"));
}

}  // namespace

}  // namespace thinpipe
