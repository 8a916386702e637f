#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include "reports/reproduction/reproduction.h"
#include "tests/reports/reproduction/made_up.h"
#include "tests/trace/temporary_folder.h"

namespace thinpipe {
namespace {

Reproduction made_up_reproduction(const std::vector<double>& with,
                                  const std::vector<double>& without, bool quick = false) {
  return reproduced(made_up::plan(),
                    {made_up::trainings("with", with), made_up::trainings("without", without)},
                    quick);
}

TEST(Reproduced, RefusesWhatThePlanHasNot) {
  ReproductionPlan plan = made_up::plan();
  plan.expectations[0].column = "speed";
  EXPECT_THROW(reproduced(plan, {}, false), std::logic_error);
}

TEST(ReproductionText, FitsATerminalAndSaysWhatAppeared) {
  const std::string text =
      reproduction_text(made_up_reproduction({0.9, 0.91, 0.92}, {0.8, 0.82, 0.81}));
  EXPECT_NE(text.find("yes: it helps (10.00 +-"), std::string::npos) << text;
  EXPECT_NE(text.find("91.00 +-2.48 %"), std::string::npos) << text;
  EXPECT_NE(text.find("40x\n"), std::string::npos) << text;  // 4000 of 100 bytes
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    EXPECT_LE(end - begin, 80U) << text.substr(begin, end - begin);
}

TEST(ReproductionPage, ShowsRuleFiguresAndCommands) {
  const std::string page = reproduction_page(made_up_reproduction({0.9}, {}), "");
  for (const char* part : {"# dgc-fig3: a title", "the paper", "ours", "90 %", "another machine",
                           "not measured", "    thinpipe train -c 'with'"})
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
  EXPECT_LT(page.find("## The rules"), page.find("## The figures"));
  EXPECT_EQ(page.find("quick try"), std::string::npos);
  EXPECT_NE(reproduction_page(made_up_reproduction({0.9}, {}, true), "").find("quick try"),
            std::string::npos);
}

TEST(ReproductionPage, SaysWherePredictionsWereMade) {
  ArmRecords with{.label = "with", .command = "thinpipe predict"};
  with.printed = nlohmann::json::parse(R"({"created": "2026-11-23T06:00:00Z", "points": [],
      "fingerprint": {"cpu": "a processor", "cores": 2, "kernel": "Linux", "compiler": "g++",
                      "thinpipe": "0.1.0", "git": "1234567"}})");
  const Reproduction result = reproduced(made_up::plan(), {with, {.label = "without"}}, false);
  EXPECT_EQ(outcome_of(result).date, "2026-11-23");
  const std::string page = reproduction_page(result, "");
  EXPECT_NE(page.find("- 2026-11-23: a processor, 2 cores, Linux, thinpipe 0.1.0 (1234567), g++"),
            std::string::npos)
      << page;
  EXPECT_EQ(page.find("nothing was recorded"), std::string::npos);
}

TEST(ReproductionPage, NamesWhatFailedAndWhatIsNotTrusted) {
  ReproductionPlan plan = made_up::plan();
  plan.columns = {columns::target_seconds()};
  plan.rests_on_times = true;
  ArmRecords doubted = made_up::trainings("with", {0.9});
  doubted.records.points[0].status = Status::kInvalid;
  ArmRecords failed{.label = "without", .command = "thinpipe train"};
  failed.failure = "exit code 4";
  const Reproduction result = reproduced(plan, {doubted, failed}, false);
  EXPECT_TRUE(result.nothing_trusted());
  EXPECT_FALSE(result.complete());
  const std::string page = reproduction_page(result, "");
  for (const char* part :
       {"No times here can be trusted", "Not complete", "without: exit code 4", "not trusted"})
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
}

TEST(ReproductionIndex, ListsWhatWasCarriedOut) {
  const ReproductionOutcome outcome =
      outcome_of(made_up_reproduction({0.9, 0.91, 0.92}, {0.8, 0.82, 0.81}));
  EXPECT_EQ(outcome.outcome, "1 yes");
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "made-up-outcome.json";
  write_outcome(file, outcome);
  const auto read = read_outcome(file);
  ASSERT_TRUE(read);
  EXPECT_NE(reproduction_index({*read}).find("| [dgc-fig3](dgc-fig3.md) | a title | 1 yes |"),
            std::string::npos);
  EXPECT_FALSE(read_outcome(file.string() + ".not-there"));
}

TEST(ReproductionPicture, NeedsNothingElse) {
  ReproductionPlan plan = made_up::plan();
  plan.picture = [](const std::vector<ArmRecords>&) {
    ReproductionPicture picture;
    picture.chart.id = "p";
    picture.chart.alt = "a line";
    picture.chart.x = {"x", false, format_plain, {}, {}};
    picture.chart.y = {"y", false, format_plain, {}, {}};
    picture.chart.curves = {
        {.style = 1, .points = {{1, 2, std::nullopt, true, ""}, {2, 3, std::nullopt, true, ""}}}};
    picture.names = {"a <line>"};
    return picture;
  };
  const std::string svg = reproduction_picture(reproduced(plan, {}, false));
  for (const char* part : {"<svg xmlns=", "a &lt;line&gt;", "<title>a line</title>"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  EXPECT_EQ(svg.find("href=\"http"), std::string::npos);
  EXPECT_EQ(svg.find("var("), std::string::npos);  // only browsers know these colours
}

}  // namespace
}  // namespace thinpipe
