// Plans of sweeps, and the refusal of records that another plan made.
#include "harness/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/splitmix64.h"
#include "compressors/simd.h"
#include "harness/plan/checks.h"
#include "netem/topology/time_scale.h"
#include "tests/base/document.h"
#include "tests/base/support.h"
#include "workloads/collectives/collectives.h"
#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

SweepOptions two_by_two_by_two() {
  SweepOptions options;
  options.compressors = {parse_spec("none"), parse_spec("topk:ratio=0.1")};
  options.links = expand_link_specs("rate=10mbit|100mbit");
  options.ranks = {2, 4};
  options.repeats = 3;
  return options;
}

std::vector<std::string> ids(const SweepOptions& options) {
  std::vector<std::string> result;
  for (const SweepPoint& point : plan_sweep(options)) result.push_back(point.id(options));
  return result;
}

TEST(Plan, HasEveryPointOnce) {
  const auto all = ids(two_by_two_by_two());
  EXPECT_EQ(all.size(), 24U);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 24U);
}

TEST(Plan, EverySchedulePlaysOnEveryLink) {
  SweepOptions options = two_by_two_by_two();
  const auto without = ids(options);
  options.schedules = {parse_schedule("none"), parse_schedule("outage:every=9s,lasts=1s")};
  const auto all = ids(options);
  const std::set<std::string> different(all.begin(), all.end());
  EXPECT_EQ(different.size(), 48U);
  // A point without a schedule is named as it was before schedules existed.
  for (const std::string& id : without) EXPECT_TRUE(different.contains(id));
  std::set<std::string> links;
  for (const SweepPoint& point : plan_sweep(options)) links.insert(point.link_text());
  EXPECT_EQ(links,
            (std::set<std::string>{"rate=10mbit", "rate=100mbit",
                                   "rate=10mbit,schedule=outage:first=8s,every=9s,lasts=1s",
                                   "rate=100mbit,schedule=outage:first=8s,every=9s,lasts=1s"}));
}

TEST(Plan, ServersComeBesideTheRanks) {
  SweepOptions options = two_by_two_by_two();
  EXPECT_EQ(host_counts(options), (std::vector<int>{2, 4}));
  options.collectives = expand_collectives("ring|ps:servers=1|2");
  EXPECT_EQ(host_counts(options), (std::vector<int>{2, 3, 4, 5, 6}));
  const std::vector<SweepPoint> points = plan_sweep(options);
  EXPECT_EQ(points.size(), 72U);
  // Launches are few: points of as many ranks and servers come together.
  int launches = 1;
  for (std::size_t i = 1; i < points.size(); ++i)
    launches +=
        points[i].ranks != points[i - 1].ranks || points[i].servers() != points[i - 1].servers();
  EXPECT_EQ(launches, 6);
}

TEST(Plan, ATopologyWithServersHasAsManyAsTheCollective) {
  SweepOptions options = two_by_two_by_two();
  options.topology = parse_topology("ps:servers=2,server=(rate=4x)");
  options.collectives = expand_collectives("ps:servers=2");
  EXPECT_NO_THROW(check_collectives(options));
  options.collectives = expand_collectives("ps:servers=1");
  EXPECT_THROW(check_collectives(options), InputError);
}

TEST(Plan, EveryCollectiveCarriesEveryCompressorItServes) {
  SweepOptions options = two_by_two_by_two();
  const auto without = ids(options);
  options.collectives = expand_collectives("ring|openmpi");
  const auto all = ids(options);
  const std::set<std::string> different(all.begin(), all.end());
  EXPECT_EQ(different.size(), 48U);
  // Points by the ring are named as they were before other collectives existed.
  for (const std::string& id : without) EXPECT_TRUE(different.contains(id));
  EXPECT_TRUE(pairs_left_out(options).empty());
}

TEST(Plan, CollectivesAreCheckedBeforeAnythingStarts) {
  SweepOptions options = two_by_two_by_two();
  check_collectives(options);
  options.collectives = {parse_spec("ring:group=2")};
  EXPECT_THROW(check_collectives(options), InputError);
}

TEST(Plan, KeepsEachLaunchTogetherAndShufflesWithinIt) {
  const SweepOptions options = two_by_two_by_two();
  const auto points = plan_sweep(options);
  for (std::size_t i = 0; i < points.size(); ++i) EXPECT_EQ(points[i].ranks, i < 12 ? 2 : 4);
  SweepOptions other = options;
  other.seed = 2;
  EXPECT_EQ(ids(options), ids(options));
  EXPECT_NE(ids(options), ids(other));
}

TEST(Plan, IdsTellApartWhatIsMeasuredDifferently) {
  const SweepOptions options = two_by_two_by_two();
  SweepOptions longer = options, still = options;
  longer.steps = 100;
  still.compute_scale = 0;
  const SweepPoint point = plan_sweep(options)[0];
  SweepPoint theirs = point;
  theirs.collective = parse_spec("openmpi");
  SweepPoint held_up = point;
  held_up.stragglers = Stragglers::parse("host0:compute=2");
  EXPECT_EQ(std::set<std::string>({point.id(options), point.id(longer), point.id(still),
                                   theirs.id(options), held_up.id(options)})
                .size(),
            5U);
}

// By default, `ratio` of topk is 0.01, its `memory` is residual, and `servers` of ps is 1.
TEST(Plan, NormalIdsAreEqualForSpecsOfOneMeaning) {
  SweepOptions options = two_by_two_by_two();
  SweepPoint point = plan_sweep(options)[0];
  const auto with = [&](const char* compressor, const char* collective) {
    point.compressor = CompressorRules::parse(compressor);
    point.collective = parse_spec(collective);
    return point;
  };
  const SweepPoint plain = with("topk", "ps:pull=topk");
  const SweepPoint spelt_out =
      with("topk:memory=residual,ratio=0.010", "ps:pull=(topk:ratio=1e-2),servers=1");
  EXPECT_NE(plain.id(options), spelt_out.id(options));
  EXPECT_EQ(plain.id(options), spelt_out.normal_id(options));
  EXPECT_EQ(plain.id(options), plain.normal_id(options));
  EXPECT_NE(plain.id(options), with("topk", "ps").normal_id(options));
  EXPECT_EQ(with("conv*:topk;*:none", "ring").id(options),
            with("conv*:topk:ratio=0.010;*:none", "ring").normal_id(options));
  // A resumed run has the points of records that another text names.
  EXPECT_TRUE(spelt_out.is_in({plain.id(options)}, options));
  EXPECT_TRUE(spelt_out.is_in({spelt_out.id(options)}, options));
  EXPECT_FALSE(spelt_out.is_in({with("dgc", "ps").id(options)}, options));
}

TEST(Plan, ABaselineIsMeasuredOnceForCollectivesWithOnePlainForm) {
  SweepOptions options = two_by_two_by_two();
  options.collectives = {parse_spec("ps:pull=topk"), parse_spec("ps:pull=int8,servers=1")};
  EXPECT_EQ(collectives_for(kUncompressed, options).size(), 1U);
  EXPECT_EQ(collectives_for(parse_spec("topk:ratio=0.1"), options).size(), 2U);
}

// Every point falls to exactly one shard, and each shard has its fraction.
TEST(InShard, DealsOutEveryPointOnce) {
  for (const int shards : {1, 2, 5}) {
    std::vector<int> counts(static_cast<std::size_t>(shards));
    for (int i = 0; i < 1000; ++i) {
      int owners = 0;
      for (int shard = 1; shard <= shards; ++shard) {
        if (!in_shard("topk:ratio=0.1|rate=1gbit|" + std::to_string(i), shard, shards)) continue;
        ++owners;
        ++counts[static_cast<std::size_t>(shard - 1)];
      }
      EXPECT_EQ(owners, 1);
    }
    for (const int count : counts) EXPECT_NEAR(count, 1000.0 / shards, 100);
    // Ids whose characters have bits in common, as those of one sweep.
    std::fill(counts.begin(), counts.end(), 0);
    for (int i = 0; i < 1000; ++i)
      for (int shard = 1; shard <= shards; ++shard)
        counts[static_cast<std::size_t>(shard - 1)] +=
            in_shard(std::string(static_cast<std::size_t>(2 * i), 'b'), shard, shards);
    for (const int count : counts) EXPECT_NEAR(count, 1000.0 / shards, 100);
  }
}

// With servers, a point has more hosts than ranks, and may need a greater factor.
TEST(ScaleDeciders, AreTheSameInEveryShard) {
  SweepOptions options = two_by_two_by_two();
  options.time_scales = {1, kAutoTimeScale};
  options.collectives = expand_collectives("ring|ps:servers=1|2");
  const auto decided = [&](const std::vector<SweepPoint>& points) {
    std::set<std::tuple<std::string, int, int>> found;
    const std::vector<SweepPoint> deciders = scale_deciders(options, points);
    for (const SweepPoint& one : deciders) {
      EXPECT_TRUE(one.chooses_scale);
      found.emplace(one.link_text(), one.ranks, one.hosts());
    }
    EXPECT_EQ(found.size(), deciders.size());
    return found;
  };
  std::vector<SweepPoint> points = plan_sweep(options);
  EXPECT_EQ(decided(points).size(), 2U * 2 * 3);  // links, numbers of ranks, numbers of servers
  for (const SweepPoint& point : points)
    if (point.chooses_scale) {
      const auto of_one = decided({point});
      EXPECT_EQ(of_one.size(), 3U);
      for (const int servers : {0, 1, 2})
        EXPECT_TRUE(of_one.contains({point.link_text(), point.ranks, point.ranks + servers}));
    }
  std::erase_if(points, [](const SweepPoint& point) { return point.chooses_scale; });
  EXPECT_TRUE(decided(points).empty());
}

// FNV-1a of "a" is 0xaf63dc4c8601ec8c by its authors' table.
TEST(InShard, IsTheSameOnEveryMachine) {
  const std::uint64_t hash = SplitMix64::mix(0xaf63dc4c8601ec8cU);
  EXPECT_TRUE(in_shard("a", static_cast<int>(hash % 2) + 1, 2));
  EXPECT_TRUE(in_shard("a", static_cast<int>(hash % 1000) + 1, 1000));
}

// A codec that takes 25 s fits into a `more` of 30 s. In a run that is 20 times slower, it takes
// 500 s.
TEST(StepTimeout, IsAsManyTimesLongerAsTheRunIsSlower) {
  const Trace trace = make_synthetic(parse_synthetic_spec("synthetic:elements=1000000"));
  SweepPoint point;
  point.ranks = 4;
  point.link = parse_link_spec("rate=100mbit,delay=1ms");
  constexpr double kMore = 30;
  const auto timeout_at = [&](double factor) {
    point.time_scale = factor;
    return step_timeout(point, slowed(TopologySpec().plan(4, point.link), factor), trace, 1, kMore);
  };
  const double once = timeout_at(1);
  // 4 ranks with 32 Mbit each, at 0.956 of 100 Mbit/s: ten times 1.338 s, and round trips.
  EXPECT_GT(once, kMore + 13.38);
  EXPECT_NEAR(timeout_at(20) / once, 20, 1e-6);
  // Codecs cannot be sped up.
  EXPECT_NEAR(timeout_at(0.5), kMore + (once - kMore) / 2, 1e-6);
}

Records measured_with(const SweepOptions& options) {
  Records records;
  records.file = "out/records.jsonl";
  Header header;
  header.seed = options.seed;
  header.threads = options.threads;
  header.simd = simd_target();
  header.settings = document(settings_of(options));
  records.headers = {header};
  return records;
}

std::string refusal(const SweepOptions& before, const SweepOptions& now) {
  return input_error([&] { check_same_settings(measured_with(before), now, settings_of(now)); });
}

TEST(Settings, OptionsThatChangeFiguresAndAreNoAxisMustBeTheSame) {
  const SweepOptions before;
  EXPECT_EQ(refusal(before, before), "");
  SweepOptions now;
  now.steps = 16;
  now.warmup = 0;
  EXPECT_THAT(refusal(before, now),
              AllOf(HasSubstr("out/records.jsonl: these records were measured with --steps 8 "
                              "--warmup 2, not with --steps 16 --warmup 0"),
                    HasSubstr("give another --out")));
  now = {};
  now.compute_scale = 0;
  EXPECT_THAT(refusal(before, now),
              HasSubstr("with --compute-scale 1.0, not with --compute-scale 0.0"));
  now = {};
  now.compute_works = true;
  EXPECT_THAT(refusal(before, now), HasSubstr("with --compute wait, not with --compute work"));
  EXPECT_THAT(refusal(now, before), HasSubstr("with --compute work, not with --compute wait"));
  now = {};
  now.seed = 2;
  EXPECT_THAT(refusal(before, now), HasSubstr("with --seed 1, not with --seed 2"));
  now = {};
  now.threads = 2;
  EXPECT_THAT(refusal(before, now), HasSubstr("with --threads 1, not with --threads 2"));
  Records records = measured_with(before);
  records.headers[0].simd = "other";
  EXPECT_THAT(input_error([&] { check_same_settings(records, before, settings_of(before)); }),
              HasSubstr("with --simd other, not with --simd " + simd_target()));
}

TEST(Settings, AxesAndWhatDecidesOnlyWhenToGiveUpMayDiffer) {
  SweepOptions now;
  now.ranks = {8};
  now.repeats = 5;
  now.check_every = 0;
  now.timeout = 1;
  now.share_machine = true;
  now.device = kDeviceCuda;
  now.time_scales = {4};
  EXPECT_EQ(refusal({}, now), "");
}

TEST(Settings, ValuesThatWereReplacedAreNotTakenForFiniteOnes) {
  SweepOptions zero;
  zero.zero_non_finite = true;
  EXPECT_THAT(refusal(zero, {}), HasSubstr("with --non-finite zero, not with --non-finite error"));
  EXPECT_EQ(refusal({}, zero), "");  // points that failed are measured again, now with 0
  Records records = measured_with({});
  records.points.emplace_back().diverged = true;  // would not be measured again
  EXPECT_THAT(input_error([&] { check_same_settings(records, zero, settings_of(zero)); }),
              HasSubstr("with --non-finite error, not with --non-finite zero"));
}

TEST(Settings, OtherMachinesAreRefusedAndEmulatedOnesAreOtherPoints) {
  SweepOptions one, other;
  one.hosts = HostsOptions{};
  one.hosts->names = {"a", "b"};
  other.hosts = HostsOptions{};
  other.hosts->names = {"a", "c"};
  EXPECT_THAT(refusal(one, other), HasSubstr("with --hosts a,b, not with --hosts a,c"));
  EXPECT_EQ(refusal(one, {}), "");
  EXPECT_EQ(refusal({}, one), "");
}

TEST(Settings, RecordsThatDoNotSayThemAreTakenAsTheyAre) {
  Records records = measured_with({});
  records.headers[0].settings = {};
  SweepOptions now;
  now.steps = 16;
  EXPECT_NO_THROW(check_same_settings(records, now, settings_of(now)));
}

}  // namespace

}  // namespace thinpipe
