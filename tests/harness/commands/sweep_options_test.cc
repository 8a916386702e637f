// Options of sweeps and steps: the command that measures a point again selects that point alone.
#include "harness/commands/sweep_options.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/plan/plan.h"
#include "harness/sweep/measure.h"
#include "reports/text/provenance.h"

namespace thinpipe {
namespace {

SweepOptions options_of(const std::vector<std::string>& command) {
  const Verb verb = run_verb();
  const Arguments arguments(verb, {command.begin() + 2, command.end()});
  SweepOptions options = sweep_options_of(arguments, std::nullopt, 250);
  options.warmup = static_cast<std::uint64_t>(arguments.integer("warmup"));
  options.repeats = static_cast<int>(arguments.integer("repeats"));
  options.out = arguments.text("out");
  return options;
}

// Expects that the command made for each point of a sweep plans exactly this point, with the same
// id. A sweep whose command names no link has three links.
void expect_each_again(const std::vector<std::string>& words, std::size_t count) {
  std::vector<std::string> command = {"thinpipe", "run", "--trace", "T", "--out", "out/"};
  command.insert(command.end(), words.begin(), words.end());
  const SweepOptions options = options_of(command);
  const std::vector<SweepPoint> planned = plan_sweep(options);
  EXPECT_EQ(planned.size(), count);
  Records records;
  records.headers.emplace_back().command = command;
  for (const SweepPoint& point : planned) {
    const std::vector<std::string> again = again_words(records, describe(point, options));
    const SweepOptions own = options_of(again);
    const std::vector<SweepPoint> points = plan_sweep(own);
    ASSERT_EQ(points.size(), 1U) << point.id(options);
    EXPECT_EQ(points[0].id(own), point.id(options));
    EXPECT_EQ(own.out, "out-again");
    EXPECT_EQ(own.seed, options.seed);
  }
}

TEST(Again, AsksForEveryPointOfASweepByItself) {
  expect_each_again({"-ctopk:ratio=0.1|0.01", "--compressor=dgc", "-n", "2|4", "--link",
                     "rate=10mbit|100mbit,delay=2ms", "--seed", "7", "--resume", "--steps", "5"},
                    2 * 2 * 5);
}

TEST(Again, KeepsBucketingsCollectivesAndNetworks) {
  expect_each_again({"-c", "topk", "--ranks", "4", "--overlap", "none|bucket", "--buckets",
                     "first=50kb,rest=200kb", "--codec", "inline|thread", "--min-elements", "100"},
                    3 * 3 * 3);
  expect_each_again(
      {"-c", "conv*:none;*:topk:ratio=0.01", "-n", "4", "--collective", "ring|hierarchical:group=2",
       "--topology", "racks:racks=2", "--straggler", "host3:compute=2|3"},
      3 * 3 * 2 * 2);
  expect_each_again({"-c", "sbc", "-n", "2", "--schedule", "outage:every=9s,lasts=1s",
                     "--time-scale", "2", "--local-steps", "1|4", "--granularity", "model"},
                    3 * 3 * 2);
  expect_each_again({"-c", "topk", "-n", "2", "--local-steps", "4|8", "--fragments", "1|4"},
                    3 * 3 * 4);
  expect_each_again({"-c", "topk", "-n", "2", "--local-steps", "8", "--fragment-delay", "0|2",
                     "--fragment-mix", "0.25"},
                    3 * 3 * 2);
}

TEST(SweepOptions, HaveACompressorOnceHoweverItsDefaultsAreWritten) {
  const auto compressors = [](const std::string& one, const std::string& other) {
    return options_of({"thinpipe", "run", "--trace", "T", "--out", "out", "--no-baseline", "-c",
                       one, "-c", other})
        .compressors;
  };
  ASSERT_EQ(compressors("topk", "topk:ratio=0.01").size(), 1U);
  EXPECT_EQ(compressors("topk:ratio=0.01", "topk").front().to_string(), "topk:ratio=0.01");
  EXPECT_EQ(compressors("topk", "topk:ratio=0.1").size(), 2U);
  EXPECT_EQ(compressors("topk", "*:topk;").size(), 2U);
  EXPECT_EQ(compressors("*:topk;", "*:topk:ratio=0.010;").size(), 1U);
}

TEST(SweepOptions, HaveACollectiveOnceHoweverItsDefaultsAreWritten) {
  const auto collectives = [](const std::string& alternatives) {
    return options_of({"thinpipe", "run", "--trace", "T", "--out", "out", "-c", "topk",
                       "--collective", alternatives})
        .collectives;
  };
  ASSERT_EQ(collectives("ps|ps:servers=1|ps:pull=same").size(), 1U);
  EXPECT_EQ(collectives("ps:servers=1|ps").front().to_string(), "ps:servers=1");
  EXPECT_EQ(collectives("ps:pull=(topk:ratio=0.1)|ps:pull=(topk:ratio=0.10)").size(), 1U);
  EXPECT_EQ(collectives("ps:pull=(topk:ratio=0.01)|ps:pull=topk").size(), 1U);
  EXPECT_EQ(collectives("ps|ps:pull=topk").size(), 2U);
}

TEST(Again, IsSilentWithoutALaunch) {
  Records records;
  EXPECT_EQ(again_command(records, Point()), "");
  records.headers.emplace_back().command = {"thinpipe", "quality"};
  EXPECT_EQ(again_command(records, Point()), "");
}

TEST(Again, TrainsOneCompressorWithAllItsSeeds) {
  Records records;
  records.headers.emplace_back().command = {"thinpipe", "train", "-m", "lenet5",  "--workers=2|4",
                                            "-c",       "topk",  "-c", "3lc",     "--seeds",
                                            "3",        "--out", "t",  "--resume"};
  Point point;
  point.axes.compressor = "topk";
  point.axes.link = "rate=100mbit";
  point.axes.collective = "allgather-ring";
  point.axes.ranks = 4;
  EXPECT_EQ(again_command(records, point),
            "thinpipe train -m lenet5 --seeds 3 --out t-again -c topk --no-baseline --link "
            "rate=100mbit --workers 4 --collective ring");
}

TEST(Again, BenchesOneCompressorOnItsInput) {
  Records records;
  Header& header = records.headers.emplace_back();
  header.command = {
      "thinpipe", "bench",  "--size", "20k|1m",        "-t", "1|2", "--ratio=0.1|0.01", "--simd",
      "all",      "--json", "g.json", "--repetitions", "5"};
  Point point;
  point.axes.compressor = "topk:ratio=0.1";
  point.bench = BenchSubject{"laplace", "avx2", "memory", "cpu", 1e6, 2, 0.1};
  EXPECT_EQ(again_command(records, point),
            "thinpipe bench --repetitions 5 -c topk:ratio=0.1 --threads 2 --simd avx2 --size "
            "1000000");
  header.command = {"thinpipe", "bench", "--trace=T", "--tensor", "a", "--tensor", "b"};
  point.bench->tensor = "b";
  EXPECT_EQ(again_command(records, point),
            "thinpipe bench --trace=T -c topk:ratio=0.1 --threads 2 --simd avx2 --tensor b");
}

TEST(Again, BenchesOnTheGpuWhatWasMeasuredThere) {
  Records records;
  records.headers.emplace_back().command = {"thinpipe", "bench", "--device", "cpu|cuda"};
  Point point;
  point.axes.compressor = "int8";
  point.bench = BenchSubject{"laplace", "sm_90", "memory", "cuda", 1e6, 1, std::nullopt};
  EXPECT_EQ(again_command(records, point), "thinpipe bench -c int8 --device cuda --size 1000000");
}

TEST(Again, TakesTheLaunchThatMeasuredThePoint) {
  Records records;
  for (const char* hour : {"10", "12"}) {
    Header& header = records.headers.emplace_back();
    header.created = std::string("2026-01-31T") + hour + ":00:00Z";
    header.command = {"thinpipe", "run", "--steps", hour};
  }
  Point point;
  point.axes.compressor = "dgc it's";
  point.axes.link = "rate=1gbit";
  point.axes.collective = "allreduce-ring";
  point.started = "2026-01-31T11:00:00Z";
  EXPECT_EQ(again_command(records, point),
            "thinpipe run --steps 10 -c 'dgc it'\\''s' --no-baseline --link rate=1gbit --ranks 1 "
            "--collective ring");
  point.started = "2026-01-31T12:00:00Z";
  EXPECT_NE(again_command(records, point).find("--steps 12"), std::string::npos);
}

TEST(TimeScaleOption, TakesFactorsAndAuto) {
  EXPECT_EQ(parse_time_scales("1"), std::vector<double>{1});
  EXPECT_EQ(parse_time_scales("1|2|0.25|2.0"), (std::vector<double>{1, 2, 0.25}));
  EXPECT_EQ(parse_time_scales("auto"), std::vector<double>{kAutoTimeScale});
}

TEST(TimeScaleOption, NamesWhatIsNoFactor) {
  for (const char* text :
       {"", "0", "-1", "1e4", "0.0001", "fast", "2x", "nan", "inf", "1|", "1,2"}) {
    SCOPED_TRACE(text);
    EXPECT_THROW(parse_time_scales(text), InputError);
  }
  EXPECT_THROW(parse_time_scale("auto"), InputError);
}

}  // namespace

}  // namespace thinpipe
