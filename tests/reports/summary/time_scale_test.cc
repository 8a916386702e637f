#include "reports/summary/time_scale.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "reports/summary/summary.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

Point scaled_at(double factor, const std::string& compressor, double rate,
                std::vector<double> times) {
  Point point = sample::point(compressor, rate, 0, std::move(times));
  point.axes.time_scale = factor;
  point.id += "|x" + std::to_string(factor);
  return point;
}

Records records_of(std::vector<Point> points) {
  Records records;
  records.file = "out/records.jsonl";
  records.headers = {sample::header()};
  records.points = std::move(points);
  return records;
}

const std::vector<double> kAboutOne = {0.99, 1.0, 1.01, 1.0, 0.995, 1.005, 1.0, 0.998};
const std::vector<double> kAboutTwo = {1.99, 2.0, 2.01, 2.0, 1.995, 2.005, 2.0, 1.998};

TEST(TimeScales, OfOneLinkAreNotMixedInAReport) {
  const Records mixed =
      records_of({scaled_at(1, "none", 1e9, kAboutOne), scaled_at(2, "topk", 1e9, kAboutOne)});
  try {
    summarize(mixed);
    FAIL() << "mixed time scales were summarized";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("time scales 1 and 2"), std::string::npos);
  }
  EXPECT_EQ(summarize(at_time_scale(mixed, 2)).groups.at(0).series.size(), 1U);
  EXPECT_THROW(at_time_scale(mixed, 4), InputError);
  // Each link may have its own: what is compared lies on one.
  EXPECT_NO_THROW(summarize(
      records_of({scaled_at(1, "none", 1e9, kAboutOne), scaled_at(10, "none", 1e10, kAboutOne)})));
}

TEST(TimeScales, AreToldOfExceptWhereItIsOne) {
  EXPECT_TRUE(time_scale_notes(records_of({scaled_at(1, "none", 1e9, kAboutOne)})).empty());
  const auto notes = time_scale_notes(
      records_of({scaled_at(1, "none", 1e9, kAboutOne), scaled_at(20, "none", 25e9, kAboutOne)}));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("Time scale 20: 4 ranks on rate=25000000000 was measured in slow motion"),
            std::string::npos)
      << notes[0];
}

ScaleAgreement compared(const std::vector<double>& base, const std::vector<double>& other) {
  const auto agreements = compare_time_scales(
      records_of({scaled_at(1, "none", 1e9, base), scaled_at(4, "none", 1e9, other)}));
  EXPECT_EQ(agreements.size(), 1U);
  return agreements.at(0);
}

TEST(CompareTimeScales, TellsWhatAgreesFromWhatDoesNot) {
  using Verdict = ScaleAgreement::Verdict;
  const ScaleAgreement same = compared(kAboutOne, kAboutOne);
  EXPECT_EQ(same.verdict, Verdict::kAgree);
  EXPECT_EQ(same.base, 1);
  EXPECT_EQ(same.factor, 4);
  EXPECT_NE(agreement_sentence(same).find(
                "none on rate=1000000000, 4 ranks: 1 s a step at time scale 4, 1 s at 1: agree"),
            std::string::npos)
      << agreement_sentence(same);
  const ScaleAgreement other = compared(kAboutOne, kAboutTwo);
  EXPECT_EQ(other.verdict, Verdict::kDisagree);
  EXPECT_NEAR(other.ratio.value, 2, 1e-9);
  EXPECT_NE(agreement_sentence(other).find("DO NOT AGREE"), std::string::npos);
  EXPECT_EQ(compared(kAboutOne, {1, 1, 1}).verdict, Verdict::kTooFew);
  // Less than a hundredth, however significant.
  EXPECT_EQ(compared(std::vector<double>(8, 1.0), std::vector<double>(8, 1.005)).verdict,
            Verdict::kAgree);
}

TEST(CompareTimeScales, TakesOnlyWhatIsTrusted) {
  Point doubtful = scaled_at(4, "none", 1e9, kAboutOne);
  doubtful.status = Status::kInvalid;
  const auto agreements =
      compare_time_scales(records_of({scaled_at(1, "none", 1e9, kAboutOne), doubtful}));
  ASSERT_EQ(agreements.size(), 1U);
  EXPECT_EQ(agreements[0].verdict, ScaleAgreement::Verdict::kNotTrusted);
}

}  // namespace

}  // namespace thinpipe
