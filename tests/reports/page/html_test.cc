// Pieces of pages.
#include "reports/page/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <regex>
#include <string>

#include "reports/figures/figure.h"

namespace thinpipe {
namespace {

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

// Colours that are used together can be told apart (WCAG 2.1, 1.4.3 and 1.4.11).

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
  // What is drawn needs less than what is read.
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

}  // namespace

}  // namespace thinpipe
