// Benchmarks as a whole, and their options.
#include "harness/bench/bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "harness/bench/options.h"
#include "harness/bench/results.h"
#include "tests/base/support.h"
#include "tests/trace/sample_trace.h"

namespace thinpipe {
namespace {

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
    }
    EXPECT_EQ(group.rows.size(), 2 * targets.size());
    EXPECT_EQ(group.roofline.read.size(), 4u);
    EXPECT_GT(group.roofline.copy, 0);
    EXPECT_GT(group.roofline.triad, 0);
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
    EXPECT_GT(row.at("GB_per_s"), 0) << name;
    // The row's own time: ns of one call over 3000 elements.
    ASSERT_EQ(row.at("time_unit"), "ns");
    EXPECT_NEAR(row.at("ns_per_element").get<double>(), row.at("real_time").get<double>() / 3000,
                1e-6 * row.at("real_time").get<double>());
    if (name.find("code/") == std::string::npos) continue;
    for (const char* counter : {"times_t_r", "bits_per_element", "relative_error", "passes"}) {
      EXPECT_TRUE(row.contains(counter)) << name << " " << counter;
    }
    EXPECT_EQ(row.contains("selected_share"), name.find("topk") != std::string::npos) << name;
  }
  for (const char* name :
       {"encode/topk:memory=none/laplace:3000/cache/threads:1",
        "encode/none/laplace:3000/cache/threads:1", "decode/none/laplace:3000/cache/threads:1",
        "read/streams:8/laplace:3000/cache/threads:1", "triad/laplace:3000/cache/threads:1"}) {
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
  std::vector<std::string> ran(50);
  const auto json = nlohmann::json::parse(result.json);
  for (const auto& row : json.at("benchmarks")) {
    EXPECT_EQ(row.contains("order"), row.at("run_type") == "iteration");
    if (!row.contains("order")) continue;
    const auto place = row.at("order").get<std::size_t>();
    order.push_back(place);
    ran.at(place) = row.at("run_name");
  }
  std::sort(order.begin(), order.end());
  ASSERT_EQ(order.size(), 50u);  // (4 reads + copy + triad + 2 compressors x 2) x 5
  for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], i);
  // In turn, none would be its own neighbour; one after the other, 40 of 49 would be.
  int neighbours = 0;
  for (std::size_t i = 1; i < ran.size(); ++i) neighbours += ran[i] == ran[i - 1] ? 1 : 0;
  EXPECT_LT(neighbours, 25);
  EXPECT_NE(std::vector<std::string>(ran.begin(), ran.begin() + 10),
            std::vector<std::string>(ran.begin() + 10, ran.begin() + 20));
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
  }
}

TEST(Bench, WrongResultsAreNoRows) {
  BenchOptions options = small();
  for (const char* how : {"nothing", "count", "private", "throws", "decode-threads"}) {
    options.compressors.push_back(parse_spec(std::string("test-wrong:how=") + how));
  }
  options.threads = {2};
  const BenchResult result = run_bench(options);
  ASSERT_EQ(result.failures.size(), 4u);
  for (const BenchFailure& failure : result.failures) {
    EXPECT_NE(failure.name.find("test-wrong:how="), std::string::npos) << failure.name;
  }
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

using Texts = std::vector<std::string>;

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
  for (const char* text : {"", "0", "k", "-1", "1.5", "26q", "26mm", "2g", "nan", "inf", "1e300"}) {
    EXPECT_THROW(parse_elements(text), InputError) << text;
  }
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

}  // namespace

}  // namespace thinpipe
