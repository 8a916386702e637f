// Pieces of pages.
#include "reports/html/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/figures/data.h"

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

}  // namespace
}  // namespace thinpipe
