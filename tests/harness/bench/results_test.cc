#include "harness/bench/results.h"

#include <gtest/gtest.h>

#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"

namespace thinpipe {
namespace {

BenchRow row(const std::string& compressor, double encode, double bits) {
  return {.compressor = compressor,
          .simd = "avx3_dl",
          .encode = encode,
          .decode = 0.01234,
          .t_r = 0.2,
          .allocations = 0,
          .quality = {.selected_share = 1.004,
                      .bits_per_element = bits,
                      .relative_error = 0.9123,
                      .passes = 2.5}};
}

BenchGroup group() {
  BenchGroup group{.tensor = "laplace", .elements = 26000000, .threads = 2};
  group.roofline = {
      .read = {{1, 0.25}, {2, 0.21}, {4, 0.2}, {8, 0.22}}, .copy = 0.5, .triad = 0.7, .t_r = 0.2};
  return group;
}

std::vector<std::string> lines_of(const std::string& text) { return split(text, '\n'); }

TEST(BenchTable, SortsByEncodeAndMarksTheFastestThatCompresses) {
  BenchGroup with = group();
  with.rows = {row("slow", 3.456, 0.05), row("fast", 0.4, 0.64), row("none", 0.3, 32)};
  const std::vector<std::string> lines = lines_of(bench_table(with));
  EXPECT_EQ(lines[0], "laplace, 26000000 elements, 2 threads: t_R = 0.200 ns/element");
  EXPECT_EQ(lines[1],
            "  read 0.250 (1 stream), 0.210 (2 streams), 0.200 (4 streams), 0.220 (8 streams)");
  EXPECT_EQ(lines[2], "  copy 0.500, triad 0.700");
  ASSERT_GE(lines.size(), 8u);
  EXPECT_EQ(lines[5].substr(0, 6), "  none");
  EXPECT_EQ(lines[6].substr(0, 6), "* fast");
  EXPECT_EQ(lines[7].substr(0, 6), "  slow");
  // 3.456 / 0.2 = 17.28.
  std::istringstream words(lines[7]);
  const std::vector<std::string> found{std::istream_iterator<std::string>(words), {}};
  EXPECT_EQ(found, (std::vector<std::string>{"slow", "avx3_dl", "3.46", "17.3", "0.012", "1.00",
                                             "0.050", "0.912", "2.5"}));
}

TEST(BenchTable, FitsItsColumnsWhateverTheFiguresAndSpecs) {
  BenchGroup with = group();
  std::string spec = "method:a=1";
  for (int i = 0; i < 30; ++i) spec += ",parameter" + std::to_string(i) + "=value";
  with.rows = {row(spec, 123456.7, 31.2345), row("short", 1e-9, 1e-9), row(spec, 1, 1)};
  with.rows[1].quality.selected_share = std::numeric_limits<double>::quiet_NaN();
  const std::string text = bench_table(with);
  for (const std::string& line : lines_of(text)) {
    EXPECT_LE(line.size(), kBenchColumns) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
  }
  EXPECT_NE(text.find("parameter29=value"), std::string::npos) << "nothing of a spec is lost";
}

TEST(BenchTable, FitsItsColumnsWhateverTheNames) {
  BenchGroup with = group();
  with.tensor = "transformer.h.11.mlp." + std::string(120, 'x') + ".weight";
  with.rows = {row("topk:memory=none,ratio=0.001", 1, 1), row("short", 2, 1)};
  with.rows[0].simd = "avx3_zen4";
  with.rows[0].allocations = 1;
  with.rows[0].compressor += std::string(150, 'y');
  with.rows[1].simd = "neon_without_aes";
  const std::string text = bench_table(with);
  for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), kBenchColumns) << line;
  EXPECT_NE(text.find("neon_without_aes "), std::string::npos) << text;
}

TEST(FittedLines, LoseNothing) {
  EXPECT_EQ(fitted_lines("short\n\nlines\n"), "short\n\nlines\n");
  const std::string sentence = std::string(60, 'a') + " " + std::string(60, 'b') + "\n";
  EXPECT_EQ(fitted_lines(sentence), std::string(60, 'a') + "\n" + std::string(60, 'b') + "\n");
  EXPECT_EQ(fitted_lines(std::string(130, 'c')),
            std::string(80, 'c') + "\n" + std::string(50, 'c'));
}

TEST(BenchTable, TellsOfAllocations) {
  BenchGroup with = group();
  with.rows = {row("topk", 1, 1)};
  EXPECT_EQ(bench_table(with).find("allocations"), std::string::npos);
  with.rows[0].allocations = 3;
  EXPECT_NE(bench_table(with).find("note: 3.00 allocations an encode: topk"), std::string::npos);
}

TEST(ShortSpec, LeavesOutWhatIsDefault) {
  EXPECT_EQ(short_spec(parse_spec("topk:memory=residual,ratio=0.02")), "topk:ratio=0.02");
  EXPECT_EQ(short_spec(parse_spec("topk")), "topk");
  EXPECT_EQ(short_spec(parse_spec("topk:memory=none,decay=1.0")), "topk:memory=none");
}

TEST(DeviceTable, TimesAreOfACall) {
  BenchGroup group{.tensor = "laplace",
                   .elements = 2'000'000,
                   .device = kDeviceCuda,
                   .device_name = "a GPU",
                   // ns/element: 4 us and 2 us of a call
                   .roofline = {.read = {{1, 0.002}, {2, 0.001}}, .copy = 0.004, .t_r = 0.001}};
  group.rows.push_back({.spec = parse_spec("none"),
                        .compressor = "none",
                        .simd = "sm_90",
                        .encode = 0.004,
                        .decode = 0.004,
                        .encode_wall = 0.01,
                        .t_r = 0.001,
                        .quality = {std::numeric_limits<double>::quiet_NaN(), 32, 0, 1}});
  group.rows.push_back({.spec = parse_spec("topk"),
                        .compressor = "topk",
                        .simd = "sm_90",
                        .encode = 0.006,
                        .decode = 0.0005,
                        .encode_wall = 0.012,
                        .t_r = 0.001,
                        .quality = {1, 0.64, 0.9, 1}});
  EXPECT_EQ(device_table(group),
            "laplace, 2000000 elements, a GPU: t_R = 2.00 us\n"
            "  read 4.00 (1 stream), 2.00 (2 streams)\n"
            "  copy 8.00\n"
            "  compressor  encode  encode   encode  decode  k^/k    bits    error,  passes\n"
            "                  us   / t_R  wall us      us        / elem  relative\n"
            "  none          8.00    4.00     20.0    8.00     -    32.0     0.000       1\n"
            "* topk          12.0    6.00     24.0    1.00  1.00   0.640     0.900       1\n");
}

TEST(DeviceTable, TheHeadingSaysWhatItRanAt) {
  BenchDevice device{.description = {.name = "a GPU",
                                     .architecture = "sm_90",
                                     .driver = "13.0",
                                     .runtime = "13.0",
                                     .l2_bytes = 50'000'000},
                     .state = std::nullopt};
  EXPECT_EQ(device_heading(device),
            "a GPU (sm_90), L2 cache 50 MB, CUDA 13.0, driver for CUDA 13.0\n");
  device.state = {.driver = "580.1", .sm_hz = 1'980'000'000, .memory_hz = std::nullopt};
  EXPECT_EQ(device_heading(device),
            "a GPU (sm_90), L2 cache 50 MB, CUDA 13.0, driver for CUDA 13.0 (580.1); at work: SM "
            "1980 MHz, memory unknown\n");
}

}  // namespace
}  // namespace thinpipe
