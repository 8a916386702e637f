#include "reports/gate/output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/gate/gate.h"
#include "tests/reports/gate/measured_sample.h"
#include "tests/reports/markup.h"

namespace thinpipe {
namespace {

constexpr const char* kHostileName = "<b>&\"' | % \n ::error::";

GateOutcome sample_outcome() {
  Measured before = sample::measured(10), after = sample::measured(10);
  const std::vector<std::vector<double>> second(10, {1.0}), slower(10, {1.25}), faster(10, {0.5});
  before.series[{"a/" + std::string(kHostileName), "encode_time"}] =
      sample::series("timed", "lower", second);
  after.series[{"a/" + std::string(kHostileName), "encode_time"}] =
      sample::series("timed", "lower", slower);
  before.series[{"b", "encode_time"}] = sample::series("timed", "lower", second);
  after.series[{"b", "encode_time"}] = sample::series("timed", "lower", faster);
  before.series[{"b", "passes"}] = sample::series("exact", "lower", second, "1");
  after.series[{"b", "passes"}] = sample::series("exact", "lower", second, "1");
  before.series[{"gone", "passes"}] = sample::series("exact", "lower", second, "1");
  return PairedGate(GatePolicy()).look(before, after);
}

TEST(GateOutput, SentenceNamesTheWorst) {
  EXPECT_EQ(gate_sentence(sample_outcome()),
            "Of 3 metrics: 1 worse, 1 better, 1 the same, 1 not comparable. The worst: encode_time "
            "of a/" +
                std::string(kHostileName) + ", +25.00 % (+25.00 to +25.00).");
  EXPECT_EQ(gate_sentence(GateOutcome()), "Nothing was compared.");
}

TEST(GateOutput, TextLeavesOutWhatIsTheSame) {
  EXPECT_EQ(gate_text(sample_outcome(), false).find("passes\n"), std::string::npos);
  EXPECT_NE(gate_text(sample_outcome(), true).find("passes\n"), std::string::npos);
}

TEST(GateOutput, JunitIsWellFormedAndCounts) {
  const std::string xml = gate_junit(sample_outcome());
  EXPECT_EQ(sample::check_markup(xml.substr(xml.find('\n') + 1)).error, "");
  EXPECT_NE(xml.find("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"0\""), std::string::npos)
      << xml;
}

TEST(GateOutput, MarkdownFitsWhateverThereIs) {
  GateOutcome outcome = sample_outcome();
  const MetricComparison one = outcome.comparisons[0];
  for (int i = 0; i < 20000; ++i) outcome.comparisons.push_back(one);
  const std::string text = gate_markdown(outcome);
  EXPECT_LE(text.size(), kLongestSummary);
  EXPECT_GT(text.size(), kLongestSummary * 9 / 10);
  EXPECT_NE(text.find("more lines."), std::string::npos);
  EXPECT_EQ(text.find("<b>"), std::string::npos);
}

TEST(GateOutput, OneAnnotationOnOneLine) {
  const std::string annotation = gate_annotation(sample_outcome());
  EXPECT_EQ(annotation.rfind("::error title=thinpipe gate::encode_time of a/", 0), 0U);
  EXPECT_EQ(std::count(annotation.begin(), annotation.end(), '\n'), 1);
  EXPECT_NE(annotation.find("%0A"), std::string::npos);
  EXPECT_NE(annotation.find("%25"), std::string::npos);
  GateOutcome good = sample_outcome();
  good.missing.clear();
  good.comparisons.erase(good.comparisons.begin());
  EXPECT_EQ(gate_annotation(good), "");
  EXPECT_NE(gate_annotation(GateOutcome()), "");
}

TEST(GateOutput, JsonSaysWhatWasFound) {
  const nlohmann::json json = gate_json(sample_outcome());
  EXPECT_EQ(json["worse"], 1);
  EXPECT_EQ(json["comparisons"][0]["verdict"], "worse");
  EXPECT_NEAR(json["comparisons"][0]["change"].get<double>(), 0.25, 1e-9);
  EXPECT_EQ(json["missing"].size(), 1U);
}

}  // namespace
}  // namespace thinpipe
