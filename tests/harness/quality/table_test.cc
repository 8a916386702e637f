#include "harness/quality/table.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/trace/sample_trace.h"
#include "tests/trace/temporary_folder.h"

namespace thinpipe {
namespace {

// Columns that a terminal shows: bytes but for those that continue a character, and but for U+0302,
// the hat of k.
std::size_t columns(const std::string& line) {
  std::size_t count = 0;
  for (const char c : line) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return count - (line.find("\xcc\x82") == std::string::npos ? 0 : 1);
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
      const auto all = split(quality_heading() + quality_lines(quality, rows), '\n');
      for (const std::string& line : all) EXPECT_LE(columns(line), kQualityColumns) << line;
      return all.size() - 3;  // two of the heading, and nothing after the last
    };
    const std::size_t steps = quality.period == 1 ? 3 : 1;
    const std::size_t own = std::string(spec).size() < 18 ? 1 : 2;  // lines of the name
    EXPECT_EQ(lines(QualityRows::kTotal), own);
    EXPECT_EQ(lines(QualityRows::kTensors), own + 2);
    EXPECT_EQ(lines(QualityRows::kSteps), own + steps);
    EXPECT_EQ(lines(QualityRows::kTensorSteps), own + 2 + 2 * steps);
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
  const auto lines = split(quality_heading() + quality_lines(quality, QualityRows::kTotal), '\n');
  EXPECT_EQ(columns(lines[1]), kQualityColumns);
  EXPECT_EQ(lines[2],
            "topk                123 GB  32.0 99999 1e+30 1e-09 12346 1e+"
            "07 1e+20 1e-10  -1.00 1e-05   100      0");
}

}  // namespace
}  // namespace thinpipe
