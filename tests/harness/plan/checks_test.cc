#include "harness/plan/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "compressors/simd.h"
#include "tests/base/input_error.h"

namespace thinpipe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Records measured_with(const SweepOptions& options) {
  Records records;
  records.file = "out/records.jsonl";
  Header header;
  header.seed = options.seed;
  header.threads = options.threads;
  header.simd = simd_target();
  header.settings = settings_of(options);
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
              AllOf(HasSubstr("out/records.jsonl: the records there were measured with --steps 8 "
                              "--warmup 2, not with --steps 16 --warmup 0"),
                    HasSubstr("give another --out")));
  now = {};
  now.compute_scale = 0;
  EXPECT_THAT(refusal(before, now),
              HasSubstr("with --compute-scale 1.0, not with --compute-scale 0.0"));
  now = {};
  now.seed = 2;
  EXPECT_THAT(refusal(before, now), HasSubstr("with --seed 1, not with --seed 2"));
  now = {};
  now.threads = 2;
  EXPECT_THAT(refusal(before, now), HasSubstr("with --threads 1, not with --threads 2"));
}

TEST(Settings, AxesAndWhatDecidesOnlyWhenToGiveUpMayDiffer) {
  SweepOptions now;
  now.ranks = {8};
  now.repeats = 5;
  now.check_every = 0;
  now.patience = 1;
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
  records.headers[0].settings = nlohmann::json::object();
  SweepOptions now;
  now.steps = 16;
  EXPECT_NO_THROW(check_same_settings(records, now, settings_of(now)));
}

}  // namespace

}  // namespace thinpipe
