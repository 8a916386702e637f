#include "harness/quality/output.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/trace/sample_trace.h"
#include "tests/trace/temporary_folder.h"

namespace thinpipe {
namespace {

std::vector<std::string> table_lines(const CompressorQuality& quality, QualityRows rows) {
  QualityTable table;
  table.add(quality, rows);
  return split(table.text(), '\n');
}

TEST(QualityTable, FitsItsColumnsAndHasTheRowsAskedFor) {
  TemporaryFolder folder;
  write_sample_trace(folder.path() / "trace",
                     {.shapes = {{30, 20}, {7}}, .ranks = 2, .steps = 3, .seed = 3});
  const Trace trace(folder.path() / "trace");
  for (const char* spec :
       {"topk", "sidco:ratio=0.001", "fp16", "none", "topk:delay=2,ratio=0.01"}) {
    const CompressorQuality quality = replay_offline(trace, parse_spec(spec), {});
    const auto lines = [&](QualityRows rows) {
      const auto all = table_lines(quality, rows);
      for (const std::string& line : all) EXPECT_LE(text_columns(line), 80U) << line;
      // Two tables: headings of two lines and of one, a line between, and nothing after the last.
      EXPECT_EQ((all.size() - 5) % 2, 0U);
      return (all.size() - 5) / 2;
    };
    const std::size_t steps = quality.period == 1 ? 3 : 1;
    EXPECT_EQ(lines(QualityRows::kTotal), 1U);
    EXPECT_EQ(lines(QualityRows::kTensors), 3U);
    EXPECT_EQ(lines(QualityRows::kSteps), 1 + steps);
    EXPECT_EQ(lines(QualityRows::kTensorSteps), 3 + 2 * steps);
  }
}

TEST(QualityTable, FiguresOfAnySizeStayInTheirColumns) {
  CompressorQuality quality;
  quality.spec = parse_spec("topk");
  quality.total.encoded_bytes = 123456789012;
  quality.total.bits_per_element = 31.99999;
  quality.total.estimation = Distribution{4, 1, 1e-9, 12345.6, 1e7, 1e20};
  quality.total.quality = MeanInterval{2, 99999.4, Interval{-1e30, 1e30}};
  quality.total.error_mean = 1e-12;
  quality.total.cosine_mean = -0.99999;
  quality.total.drift = 1.2345e-5;
  quality.total.overlap = 1;
  const auto lines = table_lines(quality, QualityRows::kTotal);
  EXPECT_EQ(lines[2], "topk        123 GB  32.0  1e-10   -1.00  1e-05    100       0");
  EXPECT_EQ(lines[5], "topk                  99999  1e+30  1e-09  12346  1e+07  1e+20");
}

}  // namespace
}  // namespace thinpipe
