// Benchmarks as a whole, their options, and tables of their results.
#include "harness/bench/bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "compressors/registry.h"
#include "harness/bench/options.h"
#include "harness/bench/results.h"
#include "harness/bench/roofline.h"
#include "tests/base/support.h"
#include "tests/trace/sample_trace.h"

namespace thinpipe {
namespace {

using Texts = std::vector<std::string>;

BenchOptions small() {
  BenchOptions options;
  options.sizes = {3000};
  options.residency = Residency::kCache;
  options.warmup = 4;
  options.repetitions = 3;
  options.min_time = 1e-5;
  options.compressors = {parse_spec("topk:memory=none"), parse_spec("none")};
  return options;
}

TEST(Bench, RowsAreThereForEveryPoint) {
  BenchOptions options = small();
  options.sizes = {3000, 70};
  options.threads = {1, 2};
  options.simd = {"all"};
  const BenchResult result = run_bench(options);
  EXPECT_TRUE(result.failures.empty()) << result.failures.front().reason;
  ASSERT_EQ(result.groups.size(), 4u);  // 2 sizes x 2 numbers of threads
  for (const BenchGroup& group : result.groups) {
    std::set<std::string> targets;
    for (const BenchRow& row : group.rows) {
      targets.insert(row.simd);
      EXPECT_GT(row.encode, 0) << row.compressor;
      EXPECT_GT(row.decode, 0) << row.compressor;
      EXPECT_EQ(row.t_r, group.roofline.t_r);
      EXPECT_EQ(row.floor,
                encode_floor(traffic_of(row.spec), row.quality.bits_per_element, group.roofline))
          << row.compressor;
    }
    EXPECT_EQ(group.rows.size(), 2 * targets.size());
    EXPECT_EQ(group.roofline.read.size(), 4u);
    EXPECT_GT(group.roofline.copy, 0);
    EXPECT_GT(group.roofline.triad, 0);
    EXPECT_GT(group.roofline.reread, 0);
    EXPECT_LE(group.roofline.reread, group.roofline.t_r);
    EXPECT_GT(group.roofline.update, 0);
    EXPECT_GE(group.roofline.store, 0);
    EXPECT_GT(group.roofline.multiply_add, 0);
    for (const auto& [streams, time] : group.roofline.read) EXPECT_GE(time, group.roofline.t_r);
  }
  EXPECT_LE(result.groups[1].roofline.t_r, result.groups[0].roofline.t_r)
      << "two threads may read as one does";
}

TEST(Bench, JsonIsGoogleBenchmarks) {
  const auto json = nlohmann::json::parse(run_bench(small()).json);
  EXPECT_FALSE(json.at("context").contains("host_name"));
  EXPECT_EQ(json.at("context").at("seed"), 1);
  EXPECT_EQ(json.at("context").at("residency"), "cache");
  std::map<std::string, int> rows;
  for (const auto& row : json.at("benchmarks")) {
    ASSERT_TRUE(row.at("real_time").is_number());
    const std::string name = row.at("run_name");
    if (row.at("run_type") != "iteration") continue;
    ++rows[name];
    EXPECT_GT(row.at("ns_per_element"), 0) << name;
    EXPECT_EQ(row.contains("floor_share"), name.starts_with("encode/")) << name;
    // Its operations are in registers, and their number does not depend on the tensor.
    if (name.starts_with("multiply_add/")) {
      EXPECT_FALSE(row.contains("GB_per_s")) << name;
      continue;
    }
    EXPECT_GT(row.at("GB_per_s"), 0) << name;
    // The row's own time: ns of one call over 3000 elements.
    ASSERT_EQ(row.at("time_unit"), "ns");
    EXPECT_NEAR(row.at("ns_per_element").get<double>(), row.at("real_time").get<double>() / 3000,
                1e-6 * row.at("real_time").get<double>());
    if (name.find("code/") == std::string::npos) continue;
    for (const char* counter : {"times_t_r", "bits_per_element", "relative_error", "passes"})
      EXPECT_TRUE(row.contains(counter)) << name << " " << counter;
    EXPECT_EQ(row.contains("selected_share"), name.find("topk") != std::string::npos) << name;
  }
  for (const char* name :
       {"encode/topk:memory=none/laplace:3000/cache/threads:1",
        "encode/none/laplace:3000/cache/threads:1", "decode/none/laplace:3000/cache/threads:1",
        "read/streams:8/laplace:3000/cache/threads:1", "triad/laplace:3000/cache/threads:1",
        "reread/laplace:3000/cache/threads:1", "update/laplace:3000/cache/threads:1",
        "store/laplace:3000/cache/threads:1", "multiply_add/laplace:3000/cache/threads:1"}) {
    const auto found = rows.lower_bound(name);
    ASSERT_NE(found, rows.end()) << name;
    EXPECT_EQ(found->first.substr(0, std::string(name).size()), name);
    EXPECT_EQ(found->second, 3) << name;
  }
}

TEST(Bench, RepetitionsAreInRandomOrderAndSayInWhich) {
  BenchOptions options = small();
  options.repetitions = 5;
  const BenchResult result = run_bench(options);
  std::vector<std::size_t> order;
  std::vector<std::string> ran(70);
  const auto json = nlohmann::json::parse(result.json);
  for (const auto& row : json.at("benchmarks")) {
    EXPECT_EQ(row.contains("order"), row.at("run_type") == "iteration");
    if (!row.contains("order")) continue;
    const auto place = row.at("order").get<std::size_t>();
    order.push_back(place);
    ran.at(place) = row.at("run_name");
  }
  std::sort(order.begin(), order.end());
  ASSERT_EQ(order.size(), 70u);  // (10 kernels of the roofline + 2 compressors x 2) x 5
  for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], i);
  // In turn, none would be its own neighbour; one after the other, 56 of 69 would be.
  int neighbours = 0;
  for (std::size_t i = 1; i < ran.size(); ++i) neighbours += ran[i] == ran[i - 1] ? 1 : 0;
  EXPECT_LT(neighbours, 25);
  EXPECT_NE(std::vector<std::string>(ran.begin(), ran.begin() + 14),
            std::vector<std::string>(ran.begin() + 14, ran.begin() + 28));
  const BenchRow& row = result.groups[0].rows[0];
  ASSERT_EQ(row.encode_order.size(), 5u);
  EXPECT_EQ(ran.at(row.encode_order[0]), ran.at(row.encode_order[4]));
  EXPECT_EQ(ran.at(row.decode_order[0]).substr(0, 7), "decode/");
}

TEST(Bench, RatiosAreAnAxis) {
  BenchOptions options = small();
  options.ratios = {"0.1", "0.05"};
  options.compressors.push_back(parse_spec("sbc:p=0.02"));
  const BenchResult result = run_bench(options);
  ASSERT_EQ(result.groups.size(), 1u);
  std::set<std::string> rows;
  for (const BenchRow& row : result.groups[0].rows) rows.insert(row.compressor);
  EXPECT_EQ(rows, (std::set<std::string>{"none", "sbc:p=0.02", "topk:memory=none,ratio=0.05",
                                         "topk:memory=none,ratio=0.1"}));
  for (const Point& point : bench_points(options, result)) {
    const std::optional<double> ratio = point.bench.value().ratio;
    if (point.axes.method == "none") {
      EXPECT_FALSE(ratio);
    } else if (point.axes.method == "sbc") {
      EXPECT_EQ(ratio, 0.02);
    } else {
      EXPECT_TRUE(ratio == 0.1 || ratio == 0.05) << ratio.value_or(0);
    }
    EXPECT_EQ(point.details->at("order").at("encode").size(), 3u);
    EXPECT_GT(point.metrics.at("encode_floor").samples.at(0), 0);
  }
}

TEST(Bench, WrongResultsAreNoRows) {
  BenchOptions options = small();
  for (const char* how : {"nothing", "count", "private", "throws", "decode-threads"})
    options.compressors.push_back(parse_spec(std::string("test-wrong:how=") + how));
  options.threads = {2};
  const BenchResult result = run_bench(options);
  ASSERT_EQ(result.failures.size(), 4u);
  for (const BenchFailure& failure : result.failures)
    EXPECT_NE(failure.name.find("test-wrong:how="), std::string::npos) << failure.name;
  ASSERT_EQ(result.groups.size(), 1u);
  EXPECT_EQ(result.groups[0].rows.size(), 3u);  // topk, none and the one that is right
  EXPECT_EQ(result.json.find("how="), std::string::npos);
}

TEST(Bench, FailureAfterTheWarmUpIsFoundToo) {
  BenchOptions options = small();
  options.compressors = {parse_spec("test-wrong:how=throws")};  // in its sixth step
  options.warmup = 4;
  const BenchResult result = run_bench(options);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_NE(result.failures[0].reason.find("the sixth step"), std::string::npos)
      << result.failures[0].reason;
  EXPECT_TRUE(result.groups[0].rows.empty());
}

TEST(Bench, TracesAreMeasuredTensorByTensor) {
  TemporaryFolder folder;
  const auto where = folder.path() / "trace";
  write_sample_trace(where);
  BenchOptions options = small();
  options.trace = where;
  BenchResult result = run_bench(options);
  ASSERT_EQ(result.groups.size(), 1u);
  EXPECT_EQ(result.groups[0].tensor, "tensor-2");  // 300 x 40, the largest
  EXPECT_EQ(result.groups[0].elements, 12000u);
  options.tensors = {"tensor-0", "tensor-3"};
  result = run_bench(options);
  ASSERT_EQ(result.groups.size(), 2u);
  EXPECT_EQ(result.groups[1].elements, 300u);
  options.tensors = {"tensor-9"};
  EXPECT_THROW(run_bench(options), InputError);
}

TEST(Bench, QualityIsTheSameInEveryRun) {
  const BenchResult first = run_bench(small());
  const BenchResult second = run_bench(small());
  for (std::size_t i = 0; i < first.groups[0].rows.size(); ++i) {
    const Quality& a = first.groups[0].rows[i].quality;
    const Quality& b = second.groups[0].rows[i].quality;
    EXPECT_EQ(a.bits_per_element, b.bits_per_element);
    EXPECT_EQ(a.relative_error, b.relative_error);
    EXPECT_EQ(a.passes, b.passes);
  }
}

TEST(BenchOptions, ElementsAreDecimal) {
  EXPECT_EQ(parse_elements("1"), 1u);
  EXPECT_EQ(parse_elements("65537"), 65537u);
  EXPECT_EQ(parse_elements("260k"), 260000u);
  EXPECT_EQ(parse_elements("2.6m"), 2600000u);
  EXPECT_EQ(parse_elements("1g"), 1000000000u);
}

TEST(BenchOptions, DevicesAreTheCpuAndCuda) {
  check_device("cpu");
  check_device("cuda");
  EXPECT_THROW(check_device("tpu"), InputError);
  EXPECT_THROW(check_device(""), InputError);
}

TEST(BenchOptions, ElementsThatAreNone) {
  for (const char* text : {"", "0", "k", "-1", "1.5", "26q", "26mm", "2g", "nan", "inf", "1e300"})
    EXPECT_THROW(parse_elements(text), InputError) << text;
}

Texts texts(const Texts& specs, const Texts& ratios) {
  std::vector<Spec> parsed;
  for (const std::string& spec : specs) parsed.push_back(parse_spec(spec));
  Texts all;
  for (const Spec& spec : with_ratios(parsed, ratios)) all.push_back(spec.to_string());
  return all;
}

TEST(Ratios, AreOfTheMethodsThatTakeThem) {
  EXPECT_EQ(texts({"topk", "none", "sbc"}, {"0.1", "0.01"}),
            (Texts{"topk:ratio=0.1", "topk:ratio=0.01", "none", "sbc:p=0.1", "sbc:p=0.01"}));
  EXPECT_EQ(texts({"topk"}, {}), Texts{"topk"});
}

TEST(Ratios, OfASpecStayAndNothingIsThereTwice) {
  EXPECT_EQ(texts({"topk:ratio=0.5", "topk:memory=none", "topk", "topk:ratio=0.1"}, {"0.1"}),
            (Texts{"topk:ratio=0.5", "topk:memory=none,ratio=0.1", "topk:ratio=0.1"}));
}

TEST(Ratios, BadOnesAreRefused) {
  EXPECT_THROW(texts({"topk"}, {"2"}), InputError);
  EXPECT_THROW(texts({"topk"}, {""}), InputError);
  EXPECT_THROW(texts({"none"}, {"0.1"}), InputError) << "nothing takes it";
}

TEST(Ratios, OfSpecs) {
  EXPECT_EQ(ratio_of(parse_spec("topk")), 0.01);
  EXPECT_EQ(ratio_of(parse_spec("sbc:p=0.25")), 0.25);
  EXPECT_FALSE(ratio_of(parse_spec("3lc")).has_value());
}

BenchRow row(const std::string& compressor, double encode, double bits) {
  return {.compressor = compressor,
          .simd = "avx3_dl",
          .encode = encode,
          .decode = 0.01234,
          .t_r = 0.2,
          .floor = 0.3,
          .allocations = 0,
          .quality = {.selected_share = 1.004,
                      .bits_per_element = bits,
                      .relative_error = 0.9123,
                      .passes = 2.5}};
}

BenchGroup group() {
  BenchGroup group{.tensor = "laplace", .elements = 26000000, .threads = 2};
  group.roofline = {.read = {{1, 0.25}, {2, 0.21}, {4, 0.2}, {8, 0.22}},
                    .copy = 0.5,
                    .triad = 0.7,
                    .reread = 0.15,
                    .update = 0.45,
                    .store = 0.3,
                    .multiply_add = 0.0104,
                    .t_r = 0.2};
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
  EXPECT_EQ(lines[3], "  reread 0.150, update 0.450, store 0.300, multiply-add 0.010");
  ASSERT_GE(lines.size(), 9u);
  EXPECT_EQ(lines[6].substr(0, 6), "  none");
  EXPECT_EQ(lines[7].substr(0, 6), "* fast");
  EXPECT_EQ(lines[8].substr(0, 6), "  slow");
  // 3.456 / 0.2 = 17.28, and 0.3 / 3.456 = 8.68 %.
  EXPECT_EQ(words_in(lines[8]),
            (Texts{"slow", "avx3_dl", "3.46", "17.3", "8.68", "0.012", "1.00", "0.050", "0.912"}));
}

TEST(BenchTable, ARowWithoutAFloorHasADash) {
  BenchGroup with = group();
  with.rows = {row("topk", 1, 1)};
  with.rows[0].floor = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::string> lines = lines_of(bench_table(with));
  EXPECT_NE(lines[4].find("floor"), std::string::npos) << lines[4];
  EXPECT_EQ(words_in(lines[6]),
            (Texts{"*", "topk", "avx3_dl", "1.00", "5.00", "-", "0.012", "1.00", "1.00", "0.912"}));
}

// The arrays that an encode moves, in ns/element of group(): t_R 0.2, reread 0.15, update 0.45,
// store 0.3 for 32 bits, and 0.0104 ns for a multiply-add.
TEST(EncodeFloor, AddsWhatAnEncodeMoves) {
  const auto floor_of = [](const EncodeTraffic& traffic, double bits) {
    return encode_floor(traffic, bits, group().roofline);
  };
  EXPECT_DOUBLE_EQ(floor_of({}, 0), 0.2);
  EXPECT_DOUBLE_EQ(floor_of({}, 32), 0.2 + 0.3);
  EXPECT_NEAR(floor_of({.inputs = 0.01}, 0), 0.01 * 0.2, 1e-12) << "only some elements are read";
  EXPECT_DOUBLE_EQ(floor_of({.sweeps = 2}, 8), 0.2 + 0.15 + 0.3 / 4);
  EXPECT_DOUBLE_EQ(floor_of({.residual = true}, 0), 0.45);
  // The squares are read as the gradient is; the variances are read and written as a residual is.
  EXPECT_DOUBLE_EQ(floor_of({.inputs = 2, .sweeps = 2, .residual = true, .states = 1}, 0),
                   0.45 + 0.2 + 0.15 + (0.45 - 0.2));
}

TEST(EncodeFloor, IsTheArithmeticWhereThatTakesLonger) {
  const RooflineFigures roofline = group().roofline;
  EXPECT_DOUBLE_EQ(encode_floor({.multiply_adds = 10}, 0, roofline), 0.2);  // 0.104
  EXPECT_DOUBLE_EQ(encode_floor({.multiply_adds = 100}, 32, roofline), 1.04);
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
