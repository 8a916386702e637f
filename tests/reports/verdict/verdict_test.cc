#include "reports/verdict/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<double> around(double value) {
  std::vector<double> samples;
  for (int i = -4; i <= 4; ++i) samples.push_back(value * (1 + 0.001 * i));
  return samples;
}

struct Timed {
  std::string compressor;
  double rate, seconds;
};

// Points whose steps take about so long.
std::vector<Point> timed(const std::vector<Timed>& all) {
  std::vector<Point> points;
  for (const auto& [compressor, rate, seconds] : all)
    points.push_back(sample::point(compressor, rate, 0, around(seconds)));
  return points;
}

Records run_of(const std::vector<Timed>& all) { return sample::records(timed(all)); }

struct TimedTwice {
  std::string compressor;
  double slow, fast;  // seconds of a step at 10 Mbit/s and at 1 Gbit/s
};

std::vector<Point> at_both_rates(const std::vector<TimedTwice>& all) {
  std::vector<Timed> points;
  for (const auto& [compressor, slow, fast] : all) {
    points.push_back({compressor, 1e7, slow});
    points.push_back({compressor, 1e9, fast});
  }
  return timed(points);
}

TEST(Verdict, SaysWhoWinsByHowMuchAndWhereItStops) {
  const std::vector<std::string> sentences =
      verdict(sample::records(at_both_rates({{"none", 2, 2}, {"topk", 0.5, 4}, {"sbc", 1, 8}})));
  ASSERT_EQ(sentences.size(), 3u);
  EXPECT_THAT(sentences[0],
              HasSubstr("topk is fastest at 10 Mbit/s: 4\xc3\x97 over fp32 (95 % CI 3."));
  EXPECT_THAT(sentences[0],
              HasSubstr(" none (fp32) is fastest at 1 Gbit/s. The fastest compressor, topk, has a "
                        "speed-up of 0.5\xc3\x97 over fp32 ("));
  // topk: 10^(7 + 4/3) = 215 Mbit/s. sbc: ln 2 to -ln 4: after 1/3, 10^(7 + 2/3) = 46.4 Mbit/s.
  EXPECT_EQ(sentences[1],
            "Faster than none (fp32) below a break-even rate: topk (215 Mbit/s) and sbc (46.4 "
            "Mbit/s).");
  EXPECT_EQ(sentences[2], "All 6 points passed their link, clock and aggregate checks.");
}

TEST(Verdict, PaysWhoIsFasterThanTheFasterOfBothBaselines) {
  const Records records = sample::records(
      at_both_rates({{"none", 2, 1.5}, {"bf16", 1, 2}, {"topk", 0.25, 1.75}, {"int8", 1.25, 1}}));
  const std::vector<std::string> sentences = verdict(records);
  EXPECT_THAT(sentences[0], ::testing::MatchesRegex(
                                "topk is fastest at 10 Mbit/s: 4\xc3\x97 over bf16 \\(95 % CI "
                                "3.*\\) and 8\xc3\x97 over fp32 \\(7.*\\)\\. int8 is fastest at "
                                "1 Gbit/s: 2\xc3\x97 over bf16 .*"));
  // The log speed-up of topk falls from ln 4 (over bf16) to ln(1.5 / 1.75) (over none). int8 is
  // slower than the faster baseline at the lower rate.
  EXPECT_THAT(sentences[1],
              HasSubstr("Faster than the faster of bf16 and none below a break-even rate: topk ("));
  EXPECT_THAT(sentences[1],
              HasSubstr(". Faster than the faster of bf16 and none above a break-even rate: "
                        "int8 ("));
  EXPECT_THAT(sentences[1], HasSubstr(". Rates with a speed-up over fp32 alone: topk below "));
  EXPECT_THAT(sentences[1], HasSubstr(" and int8 at every rate."));
  const std::vector<std::string> lines = break_even_lines(summarize(records));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_THAT(lines[0], HasSubstr("int8 is faster above "));
  EXPECT_EQ(lines[1], "  vs fp32 alone: at every rate");
}

TEST(Verdict, NamesTheBaselineThatWins) {
  const std::string told = verdict(
      sample::records(at_both_rates({{"none", 2, 1.5}, {"bf16", 1, 2}, {"topk", 1.6, 1.499}})))[0];
  EXPECT_THAT(told, HasSubstr("bf16 is fastest at 10 Mbit/s. The fastest compressor, topk, has a "
                              "speed-up of 0.625\xc3\x97 over bf16 ("));
  EXPECT_THAT(told, HasSubstr("topk, the fastest compressor at 1 Gbit/s, is statistically "
                              "indistinguishable from none (fp32): "));
}

Point lossy(const std::string& compressor, double rate, double seconds, double error) {
  Point point = sample::point(compressor, rate, 0, around(seconds));
  point.metrics["relative_error"] = {"1", "lower", "quality", {error}};
  point.metrics["payload_bytes"] = {"B", "lower", "exact", {30}};
  point.metrics["dense_bytes"] = {"B", "lower", "exact", {1000}};
  return point;
}

TEST(Verdict, SaysInOneBreathWhatAWinnerSendsAndLoses) {
  const Records records =
      sample::records({sample::point("none", 1e7, 0, around(1)), lossy("sidco", 1e7, 0.1, 0.99)});
  EXPECT_THAT(
      verdict(records)[0],
      ::testing::MatchesRegex("sidco is fastest at 10 Mbit/s: 10\xc3\x97 over fp32 \\(95 % CI "
                              ".*\\)\\. It sends 3 % of the bytes, and its decoded gradient has a "
                              "relative error of 99 %\\."));
}

TEST(Verdict, NamesTheFastestAtEqualError) {
  std::vector<Point> points;
  for (const double rate : {1e7, 1e9}) {
    points.push_back(lossy("none", rate, 2, 0));
    points.push_back(lossy("bf16", rate, 1, 0.002));
    points.push_back(lossy("int8", rate, rate < 1e8 ? 0.5 : 1.5, 0.01));
    points.push_back(lossy("sign", rate, 0.999, 0.4));  // indistinguishable from bf16
    points.push_back(lossy("topk", rate, 0.1, 0.8));
    points.push_back(lossy("sidco", rate, 0.05, 0.99));
  }
  EXPECT_EQ(
      equal_error_sentence(summarize(sample::records(points)).groups[0]),
      "Fastest with a relative error of at most 1 %: int8 at 10 Mbit/s, bf16 at 1 Gbit/s; of at "
      "most 90 %: topk at every rate.");
  EXPECT_EQ(equal_error_sentence(summarize(run_of({{"none", 1e7, 1}})).groups[0]), "");

  // A collective that quantises the sums has an error that no payload shows.
  for (Point& point : points)
    if (point.axes.method == "int8") point.axes.collective = "allreduce-qgz:group=2";
  EXPECT_EQ(
      equal_error_sentence(summarize(sample::records(points)).groups[0]),
      "Fastest with a relative error of at most 1 %: bf16 at every rate; of at most 90 %: topk "
      "at every rate.");
}

TEST(Verdict, DoesNotNameAWinnerThatTheIntervalsCannotTell) {
  const Records records = run_of({{"none", 1e7, 1}, {"topk", 1e7, 0.9995}});
  EXPECT_THAT(verdict(records)[0],
              HasSubstr("is statistically indistinguishable from none (fp32): 1\xc3\x97 over "
                        "fp32 ("));
  const Records tie = run_of({{"none", 1e7, 1}, {"sbc", 1e7, 0.5}, {"topk", 1e7, 0.5001}});
  EXPECT_THAT(verdict(tie)[0], HasSubstr("). topk is statistically indistinguishable from it."));
}

// The baseline takes 0.7 to 1.3 s, so the intervals of both speed-ups overlap. The compressors' own
// steps, 0.5 s and 0.6 s within 0.4 %, differ clearly.
TEST(Verdict, ANoisyBaselineMakesNoTie) {
  const Records records = sample::records(
      {sample::point("none", 1e7, 0, {0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.3}),
       sample::point("sbc", 1e7, 0, around(0.5)), sample::point("topk", 1e7, 0, around(0.6))});
  const Summary summary = summarize(records);
  const std::vector<Series>& series = summary.groups[0].series;  // none, sbc, topk
  const Estimate &sbc = *series[1].cells[0].speedup, &topk = *series[2].cells[0].speedup;
  ASSERT_TRUE(sbc.interval->overlaps(*topk.interval));
  EXPECT_TRUE(outcome_at(summary.groups[0], 1e7).ties.empty());
  EXPECT_THAT(verdict(records)[0], Not(HasSubstr("indistinguishable")));
}

TEST(Verdict, SaysThatAWinnerSendsAnotherNumberOfElementsThanAsked) {
  const auto winner = [](std::vector<double> kept) {
    Point point = sample::point("sidco", 1e7, 0, around(0.5));
    point.metrics["quality"] = {"1", "target:1", "quality", std::move(kept)};
    return point;
  };
  const auto told = [&](std::vector<double> kept) {
    return verdict(
        sample::records({sample::point("none", 1e7, 0, around(1)), winner(std::move(kept))}))[0];
  };
  EXPECT_THAT(told({0, 0, 1.2}),
              HasSubstr(" It sends 0.4\xc3\x97 the requested number of elements (mean k\xcc\x82/k, "
                        "median 0)."));
  EXPECT_THAT(told({1.5, 2.5}),
              HasSubstr(" It sends 2\xc3\x97 the requested number of elements ("));
  EXPECT_THAT(told({0.7, 1.1}), Not(HasSubstr("requested")));
  EXPECT_THAT(told({}), Not(HasSubstr("requested")));
}

TEST(Verdict, SaysWhichLinksDeliveredWhatTheyWereSetTo) {
  Records records = run_of({{"none", 1e8, 1}});
  EXPECT_EQ(verdict(records).back(), "The point passed its link, clock and aggregate checks.");
  records.headers[0].calibration = document(sample::calibration());
  EXPECT_THAT(verdict(records).back(),
              HasSubstr(" 2 of 5 links passed calibration (98.5 % to 100 % of the TCP ceiling). "
                        "2 of 5 links failed calibration: rate=10gbit (host0 down: 30 %) and "
                        "rate=2gbit (no data arrived). Not judged: loss=1%,rate=1gbit."));
  // When a launch calibrated it again, the later one counts.
  records.headers.push_back(records.headers[0]);
  change(records.headers[1].calibration, [](nlohmann::json& calibration) {
    nlohmann::json& link = calibration["links"][2];
    link["verdict"] = "holds";
    for (nlohmann::json& way : link["ways"]) way["ratio"] = 0.99;
  });
  EXPECT_THAT(verdict(records).back(),
              HasSubstr("3 of 5 links passed calibration (98.5 % to 100 %"));
}

// A link may pass calibration between 8 machines and fail it between 4.
TEST(Verdict, ALinkOnAnotherNumberOfMachinesIsAnotherLink) {
  Records records = run_of({{"none", 1e8, 1}});
  nlohmann::json calibration = sample::calibration(), links = nlohmann::json::array();
  for (const int machines : {4, 8}) {
    nlohmann::json link = calibration["links"][machines == 4 ? 2 : 0];
    link["link"] = "rate=1gbit";
    link["machines"] = machines;
    links.push_back(link);
  }
  records.headers[0].calibration = document({{"links", links}});
  EXPECT_THAT(verdict(records).back(), HasSubstr(" 1 of 2 links passed calibration"));
}

TEST(Verdict, SaysWhichAggregatesWereNotChecked) {
  Records records = run_of({{"none", 1e8, 1}, {"topk", 1e8, 1}});
  records.points[0].validation = document({{"checked_steps", 8}, {"reference", "projections"}});
  records.points[1].validation = document({{"checked_steps", 0}});
  EXPECT_EQ(verdict(records).back(),
            "All 2 points passed their link and clock checks. The aggregates of 1 point were not "
            "checked.");
  records.points[0].validation = document({{"checked_steps", 8}, {"reference", "none"}});
  EXPECT_EQ(verdict(records).back(),
            "All 2 points passed their link and clock checks. The aggregates of 2 points were not "
            "checked.");
}

// A header is outside input.
TEST(Verdict, CalibrationOfAnotherShapeIsPassedOver) {
  Records records = run_of({{"none", 1e8, 1}});
  for (const nlohmann::json& odd :
       {nlohmann::json{{"links", 3}}, nlohmann::json{{"links", {1, nullptr, "x"}}},
        nlohmann::json{{"links", {{{"link", 3}, {"verdict", "holds"}}}}},
        nlohmann::json{{"links", {{{"link", "rate=1"}, {"verdict", ""}}}}}}) {
    records.headers[0].calibration = document(odd);
    EXPECT_THAT(verdict(records).back(), Not(HasSubstr("alibrat"))) << odd;
  }
  records.headers[0].calibration = document(
      {{"links", {{{"link", "rate=1"}, {"verdict", "holds"}, {"ways", {{{"ratio", "1"}}}}}}}});
  EXPECT_THAT(verdict(records).back(), HasSubstr(" Not judged: rate=1."));
}

nlohmann::json path(double waited, double busy) {
  return {{"waits",
           {{{"host", 3}, {"phase", "compute"}, {"share", waited}},
            {{"host", 1}, {"phase", "start"}, {"share", 0.9}}}},
          {"pieces", {{{"host", 0}, {"phase", "exchange"}, {"share", 0.4}}}},
          {"link", {{"name", "host2"}, {"busy", busy}, {"others", 0.5}}}};
}

TEST(CriticalPathSentence, NamesWhomStepsWaitedForAndTheSlowLink) {
  Records records = run_of({{"none", 1e7, 2}, {"topk", 1e7, 1}});
  const auto sentence = [&] { return critical_path_sentence(summarize(records).groups[0]); };
  EXPECT_EQ(sentence(), "");
  records.points[1].critical_path = document(path(0.62, 0.5));
  EXPECT_EQ(sentence(),
            "Critical path: steps of topk at 10 Mbit/s waited 62 % of their time for "
            "host 3's compute.");
  records.points[0].critical_path = document(path(0.1, 0.9));
  EXPECT_EQ(sentence(),
            "Critical path: steps waited up to 62 % of their time for host 3's compute (topk at 10 "
            "Mbit/s; median of 2 points 36 %); exchanges were paced by host 2's link in 1 of 2 "
            "points.");
  EXPECT_THAT(verdict(records)[2], HasSubstr("Critical path: "));
  // Untrusted points contribute nothing, nor do records of another shape.
  records.points[1].status = Status::kInvalid;
  records.points[0].critical_path = document(
      {{"pieces", nlohmann::json::array({{{"host", 0}, {"phase", "exchange"}, {"share", 0.9}}})},
       {"payload", {{"host", 1}, {"times", 3.2}}}});
  records.points[1].critical_path = {};
  EXPECT_EQ(sentence(), "Critical path: host 1's payload was up to 3.2 times the others'.");
  change(records.points[0].critical_path,
         [](nlohmann::json& path) { path["payload"]["times"] = 1.1; });
  EXPECT_EQ(sentence(), "");
  records.points[0].critical_path =
      document({{"waits", 3}, {"pieces", {1, "x"}}, {"link", nullptr}, {"payload", 7}});
  EXPECT_EQ(sentence(), "");
}

TEST(CriticalPathSentence, StragglersAreGroupsOfTheirOwn) {
  Records records = run_of({{"none", 1e7, 2}, {"none", 1e7, 4}});
  records.points[1].axes.stragglers = "host3:compute=2";
  const Summary summary = summarize(records);
  ASSERT_EQ(summary.groups.size(), 2u);
  EXPECT_EQ(summary.groups[0].title, "4 ranks, host3:compute=2");
  EXPECT_EQ(summary.groups[1].title, "4 ranks");
}

TEST(BreakEvenLines, SayUpToWhichRateEachCompressorPays) {
  std::vector<Point> points =
      at_both_rates({{"none", 2, 2}, {"topk:ratio=0.01", 0.5, 4}, {"sbc", 1, 1}, {"qsgd", 3, 4}});
  points.push_back(sample::point("dgc", 1e9, 0, around(4)));
  const std::vector<std::string> lines = break_even_lines(summarize(sample::records(points)));
  ASSERT_EQ(lines.size(), 4u);
  // Only one rate was measured: 2 s over 4 s.
  EXPECT_THAT(lines[0], HasSubstr("dgc is not faster at 1 Gbit/s: 0.5\xc3\x97 over fp32 (0.4"));
  EXPECT_EQ(lines[1], "qsgd is never faster (10 Mbit/s to 1 Gbit/s)");
  EXPECT_EQ(lines[2], "sbc is faster at all rates (10 Mbit/s to 1 Gbit/s)");
  // The log speed-up falls from ln 4 to -ln 2. It is zero after two thirds, at 10^(7 + 4/3) = 215
  // Mbit/s. Samples are within 0.4 %.
  EXPECT_THAT(lines[3],
              ::testing::MatchesRegex("topk is faster below 215 Mbit/s \\(21. to 21. Mbit/s\\)"));
}

TEST(BreakEvenLines, NameTheRatesThatTheyLeaveOut) {
  std::vector<Point> points = at_both_rates({{"none", 2, 2}, {"topk", 0.5, 0.5}});
  points.push_back(sample::point("none", 1e8, 0, around(2)));
  points.push_back(sample::point("topk", 1e8, 0, around(0.5)));
  points.back().status = Status::kInvalid;
  EXPECT_EQ(break_even_lines(summarize(sample::records(points))),
            (std::vector<std::string>{"topk is faster at all rates (10 Mbit/s to 1 Gbit/s)",
                                      "  no trusted figure at 100 Mbit/s"}));
}

// 2 s against 1.99 +- 0.008: neither faster nor slower; at the other rate twice as fast.
TEST(BreakEvenLines, SayWhatCannotBeTold) {
  const Records records = sample::records(at_both_rates({{"none", 2, 2}, {"topk", 1, 1.999}}));
  const std::vector<std::string> lines = break_even_lines(summarize(records));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("topk is faster at 10 Mbit/s: 2\xc3\x97 over fp32 ("));
  EXPECT_THAT(lines[0], HasSubstr("; indistinguishable at 1 Gbit/s: 1\xc3\x97 over fp32 (0.99"));
  EXPECT_THAT(break_even_sentence(summarize(records).groups[0]),
              HasSubstr("Statistically indistinguishable from none (fp32) at some rates: topk "
                        "(faster at 10 Mbit/s"));
}

TEST(BreakEvenLines, WithoutTheBaselineSayThatItIsMissing) {
  const Records records = sample::records(at_both_rates({{"topk", 1, 1}}));
  EXPECT_EQ(break_even_lines(summarize(records)),
            (std::vector<std::string>{"topk has no baseline: neither bf16 nor none was measured"}));
}

// Beside the measurement, the models' predictions; of several links the one nearest to the
// statement.
TEST(BreakEvenLines, SayWhatWasPredicted) {
  Records records =
      sample::records(at_both_rates({{"none", 2, 2}, {"topk", 0.5, 4}, {"sbc", 1, 1}}));
  const auto predict = [&](std::size_t point, const nlohmann::json& rate, bool always) {
    records.points[point].prediction = document(
        {{"break_even",
          {{"rate", rate}, {"pays_at_least_rate", always}, {"pays_at_most_rate", always}}}});
  };
  predict(2, 900e6, true);
  predict(3, 800e6, true);
  predict(4, nullptr, true);
  predict(5, nullptr, true);
  const std::vector<std::string> lines = break_even_lines(summarize(records));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0],
            "sbc is faster at all rates (10 Mbit/s to 1 Gbit/s), predicted at every rate");
  EXPECT_THAT(lines[1], HasSubstr("topk is faster below 215 Mbit/s (21"));
  EXPECT_THAT(lines[1], HasSubstr("), predicted below 800 Mbit/s"));
  EXPECT_THAT(
      break_even_sentence(summarize(records).groups[0]),
      HasSubstr(
          ". Predicted rates with a speed-up over the baseline: topk below 800 Mbit/s and sbc "
          "at every rate."));
  predict(4, nullptr, false);
  predict(5, "nonsense", false);
  EXPECT_EQ(predicted_break_even(summarize(records).groups[0].series[1]), "never");
  records.points[4].prediction = document(
      {{"break_even", {{"rate", nullptr}, {"reason", "it sends 99 % of the uncompressed bytes"}}}});
  EXPECT_EQ(predicted_break_even(summarize(records).groups[0].series[1]),
            "none, as it sends 99 % of the uncompressed bytes");
}

TEST(BreakEvenLines, FitTheScreenAndSayWhatElseIsKnown) {
  const std::string name = "topk:memory=residual," + std::string(80, 'x') + "=1";
  Records records = run_of(
      {{"none", 1e7, 2}, {"none", 1e9, 2}, {name, 1e7, 0.5}, {name, 1e9, 4}, {"topk", 1e7, 1}});
  const auto note = [](const Group&, const Series& series) {
    return std::string(series.compressor == "topk" ? "" : "limited by codecs");
  };
  const std::vector<std::string> lines = break_even_lines(summarize(records), 80, note);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("topk is faster at 10 Mbit/s: 2\xc3\x97 over fp32 ("));
  EXPECT_THAT(lines[1], HasSubstr("x=1 is faster below 215 Mbit/s ("));
  EXPECT_EQ(lines[2], "  limited by codecs");  // they leave less than 24 for the name
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
  // A second group: both are named.
  records.points.push_back(sample::point("topk", 1e7, 0, around(0.5)));
  records.points.back().axes.ranks = 8;
  records.points.back().id += "8";
  EXPECT_THAT(break_even_lines(summarize(records)).back(),
              HasSubstr("[8 ranks] topk has no baseline: neither bf16 nor none was measured"));
}

TEST(Verdict, InvalidPointsDecideNothing) {
  Point invalid = sample::point("topk", 1e7, 0, around(0.1));
  invalid.status = Status::kInvalid;
  invalid.reasons = {"clock drifted"};
  const Records records = sample::records({sample::point("none", 1e7, 0, around(1)), invalid,
                                           sample::point("sbc", 1e7, 0, around(0.5))});
  const std::vector<std::string> sentences = verdict(records);
  EXPECT_THAT(sentences[0], HasSubstr("sbc is fastest at 10 Mbit/s: "));
  EXPECT_THAT(sentences[1], Not(HasSubstr("topk")));
  EXPECT_THAT(sentences.back(),
              HasSubstr("Warnings: 1 of 3 points failed a check, so no conclusion rests on it "
                        "(topk at 10 Mbit/s; first reason: clock drifted)."));
}

TEST(Verdict, WithoutABaselineItStillRanks) {
  const Records records = run_of({{"sbc", 1e7, 0.5}, {"topk", 1e7, 0.25}});
  const std::vector<std::string> sentences = verdict(records);
  EXPECT_THAT(sentences[0], HasSubstr("topk is fastest at 10 Mbit/s with 250 ms a step; there is "
                                      "no trusted baseline to compare with."));
  EXPECT_THAT(sentences[1], HasSubstr("No break-even rate: "));
}

TEST(Verdict, NothingMeasuredIsSaid) {
  Point failed = sample::point("topk", 1e7, 0, {});
  failed.status = Status::kFailed;
  failed.reasons = {"no namespaces"};
  const std::vector<std::string> sentences = verdict(sample::records({failed}));
  EXPECT_EQ(sentences[0], "No compressor has a trusted step time at 10 Mbit/s.");
  EXPECT_THAT(sentences.back(), HasSubstr("1 of 1 point could not be measured (topk at 10 Mbit/s; "
                                          "first reason: no namespaces); `--resume` "));
  EXPECT_TRUE(verdict(Records{}).empty());
}

TEST(Verdict, OfManyRatesNeighboursAreToldTogether) {
  std::vector<Point> points;
  for (const double rate : {1e7, 2e7, 5e7, 1e8, 1e9}) {
    points.push_back(sample::point("none", rate, 0, around(8e7 / rate)));
    points.push_back(sample::point("topk", rate, 0, around(rate < 1e9 ? 2e7 / rate : 1)));
  }
  EXPECT_THAT(verdict(sample::records(points))[0],
              ::testing::MatchesRegex(
                  "topk is fastest from 10 Mbit/s to 100 Mbit/s: 4\xc3\x97 over fp32 \\(.*\\) "
                  "at 10 Mbit/s; 4\xc3\x97 over fp32 \\(.*\\) at 100 Mbit/s\\. none \\(fp32\\) "
                  "is fastest at 1 Gbit/s\\. .*"));
}

// bf16 is the faster baseline on slow links and none on fast ones: they do not share a sentence.
TEST(Verdict, OfManyRatesThoseOfOneBaselineAreToldTogether) {
  std::vector<Point> points;
  for (const double rate : {1e7, 2e7, 5e7, 1e8, 1e9}) {
    points.push_back(sample::point("none", rate, 0, around(rate < 5e7 ? 2 : 1)));
    points.push_back(sample::point("bf16", rate, 0, around(rate < 5e7 ? 1 : 2)));
    points.push_back(sample::point("topk", rate, 0, around(4)));
  }
  const std::string told = verdict(sample::records(points))[0];
  EXPECT_THAT(told, HasSubstr("bf16 is fastest from 10 Mbit/s to 20 Mbit/s"));
  EXPECT_THAT(told, HasSubstr("none (fp32) is fastest from 50 Mbit/s to 1 Gbit/s"));
}

TEST(Verdict, NamesTheGroupWhenThereAreSeveral) {
  sample::SyntheticRun run;
  run.ranks = {2, 4};
  for (const std::string& sentence : verdict(sample::synthetic_run(run))) {
    EXPECT_TRUE(sentence.rfind("[2 ranks] ", 0) == 0 || sentence.rfind("[4 ranks] ", 0) == 0 ||
                sentence.rfind("Warnings: ", 0) == 0)
        << sentence;
  }
}

TEST(Verdict, FewStepsHaveNoIntervalAndThatIsSaid) {
  const Records records = sample::records(
      {sample::point("none", 1e7, 0, {1, 1}), sample::point("topk", 1e7, 0, {0.5})});
  const std::vector<std::string> sentences = verdict(records);
  EXPECT_THAT(sentences[0], HasSubstr("too few steps for a 95 % CI"));
  EXPECT_THAT(sentences.back(), HasSubstr("Fewer than 6 steps give no 95 % CI for none at 10 "
                                          "Mbit/s and topk at 10 Mbit/s"));
}

TEST(Verdict, DifferentTracesAreACaution) {
  Records records = run_of({{"none", 1e7, 1}});
  records.headers.push_back(sample::header());
  records.headers[1].trace = document({{"identity", "sha256:11"}});
  EXPECT_THAT(verdict(records).back(), HasSubstr("different traces"));
}

}  // namespace
}  // namespace thinpipe
