// Recipes of reproductions, their commands, and the figures of the paper.
#include "harness/reproduce/recipe.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "compressors/registry.h"
#include "compressors/spec.h"
#include "harness/machine/programs.h"
#include "harness/paper/paper.h"
#include "harness/reproduce/columns.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::vector<Recipe> all_recipes() {
  std::vector<Recipe> all;
  for (const std::string& name : recipe_names()) all.push_back(find_recipe(name));
  return all;
}

std::string full_command(const std::string& name, const std::string& label) {
  const Recipe recipe = find_recipe(name);
  for (const RecipeArm& arm : recipe.arms)
    if (arm.label == label) return command_of(arm.full, arm_place(name, label));
  return "";
}

TEST(Recipes, SayWhatTheyAre) {
  for (const Recipe& recipe : all_recipes()) {
    EXPECT_FALSE(recipe.plan.source.empty() || recipe.plan.here.empty()) << recipe.name();
    EXPECT_FALSE(recipe.plan.differences.empty()) << recipe.name();
    EXPECT_LE(recipe.plan.title.size(), 60U) << recipe.name();
    EXPECT_GT(recipe.full_minutes, 0) << recipe.name();
    EXPECT_GT(recipe.quick_seconds, 0) << recipe.name();
    EXPECT_LE(recipe.quick_seconds, 120) << recipe.name();
  }
}

TEST(Recipes, CompressorsOfCommandsAreKnown) {
  for (const Recipe& recipe : all_recipes()) {
    for (const RecipeArm& arm : recipe.arms) {
      for (const bool quick : {false, true}) {
        const std::vector<std::string>& words = arm.words(quick);
        EXPECT_EQ(std::count(words.begin(), words.end(), ""), 0) << recipe.name() << arm.label;
        for (std::size_t i = 0; i + 1 < words.size(); ++i) {
          if (words[i] != "-c") continue;
          for (const Spec& spec : expand_specs(words[i + 1]))
            EXPECT_NO_THROW(check_spec(spec)) << words[i + 1];
        }
      }
    }
  }
}

/// Returns cells whose difference, ratio or value, as the rule bounds it, is `value`.
std::pair<MeasuredCell, MeasuredCell> cells_for(const Expectation& rule, double value) {
  constexpr double kSecond = 50;
  MeasuredCell first, second;
  first.exact = second.exact = true;
  second.repetitions = {{1, kSecond}};
  first.repetitions = {{1, rule.bounded == Bounded::kRatio        ? value * kSecond
                           : rule.bounded == Bounded::kDifference ? value + kSecond
                                                                  : value}};
  return {first, second};
}

TEST(Recipes, EveryRuleCanFail) {
  for (const Recipe& recipe : all_recipes())
    for (const Expectation& rule : recipe.plan.expectations) {
      SCOPED_TRACE(recipe.name() + ": " + rule.says);
      const auto appeared = [&](double value) {
        const auto [first, second] = cells_for(rule, value);
        return judge(rule, first, rule.bounded == Bounded::kValue ? nullptr : &second).appeared;
      };
      const bool has_least = std::isfinite(rule.least), has_most = std::isfinite(rule.most);
      ASSERT_TRUE(has_least || has_most);
      EXPECT_EQ(has_least && has_most, rule.one_side.empty());
      const double beside = 0.01 * std::max(1.0, std::fabs(has_least ? rule.least : rule.most));
      const double inside = has_least && has_most ? (rule.least + rule.most) / 2
                            : has_least           ? rule.least + beside
                                                  : rule.most - beside;
      EXPECT_EQ(appeared(inside), Appeared::kYes);
      // A ratio is positive, so a bound of 0 cannot be missed from below.
      if (has_least && (rule.least > 0 || rule.bounded != Bounded::kRatio)) {
        EXPECT_EQ(appeared(rule.least - beside), Appeared::kNo);
      }
      if (has_most) {
        EXPECT_EQ(appeared(rule.most + beside), Appeared::kNo);
      }
    }
}

// Records of earlier runs are found by these very words.
TEST(Recipes, CommandsOfTrainingsStayAsTheyWere) {
  EXPECT_EQ(full_command("dgc-fig3", "baseline"),
            "thinpipe train -w 4 --link rate=1gbit --compute-time 0 -m lenet5 --check-every 100 "
            "--steps 600 --seeds 5 --optimiser sgd:lr=0.02,momentum=0.9 -c none --no-baseline "
            "--out dgc-fig3/baseline --resume");
  EXPECT_EQ(
      full_command("modern", "DiLoCo, 8 local steps"),
      "thinpipe train -w 4 --link rate=1gbit --compute-time 0 -m charlstm --clip 1 --check-every "
      "100 --steps 200 --seeds 5 --local-steps 8 --outer diloco --optimiser sgd:lr=1,momentum=0.9 "
      "-c none --no-baseline --out modern/DiLoCo-8-local-steps --resume");
}

TEST(Recipes, AnUnknownOneIsNamed) {
  EXPECT_EQ(input_error([] { find_recipe("dgc-fig4"); }),
            "no recipe 'dgc-fig4' (`thinpipe reproduce --list` lists all; the name of a recipe "
            "file ends with .toml); did you mean 'dgc-fig3'?");
}

// A recipe with one of everything.
constexpr const char* kWhole = R"toml(
title = "a title"
source = "a paper"
here = "{images}, a training"
differences = ["all"]
columns = ["accuracy", {show = "times_smaller", name = "smaller"}]
full_minutes = 1
quick_seconds = 2

[values]
steps = "300"

[lists]
ratio = ["0.1", "0.01"]
method = [{method = "Top-k", spec = "topk"}, {method = "DGC", spec = "dgc", steps = "400"}]

[[arms]]
each = ["ratio", "method"]
label = "{method} {ratio}"
full = "train --steps {steps}  -c {spec}:ratio={ratio}"
paper = ["", "{ratio}x"]

[[rules]]
says = "is smaller"
row = "Top-k 0.1"
than = "DGC 0.01"
bounded = "ratio"
column = "smaller"
least = "0.5 * 3"
most = "9 / 2"
)toml";

TEST(RecipeFiles, AreFilledInAndRepeated) {
  const Recipe recipe = parse_recipe("mine", kWhole, "mine.toml");
  EXPECT_TRUE(recipe.plan.here.starts_with("-w 4 --link rate=1gbit")) << "of shared.toml";
  ASSERT_EQ(recipe.arms.size(), 4U);
  EXPECT_EQ(recipe.arms[1].label, "DGC 0.1");
  EXPECT_EQ(recipe.arms[1].full,
            (std::vector<std::string>{"train", "--steps", "400", "-c", "dgc:ratio=0.1"}));
  EXPECT_TRUE(recipe.arms[1].quick.empty());
  EXPECT_TRUE(recipe.trains());
  ASSERT_EQ(recipe.plan.rows.size(), 4U) << "an arm is a row where there are no others";
  EXPECT_EQ(recipe.plan.rows[2].arm, "Top-k 0.01");
  EXPECT_EQ(recipe.plan.rows[2].paper, (std::vector<std::string>{"", "0.01x"}));
  const Expectation& rule = recipe.plan.expectations.at(0);
  EXPECT_EQ(rule.bounded, Bounded::kRatio);
  EXPECT_EQ(rule.least, 1.5);
  EXPECT_EQ(rule.most, 4.5);
}

TEST(RecipeFiles, NameFileAndPlaceOfWhatIsWrong) {
  struct Wrong {
    const char *before, *after, *complaint;
  };
  for (const Wrong& wrong : {
           Wrong{"title = \"a title\"", "title = ", "mine.toml:2: not TOML: "},
           Wrong{"title = \"a title\"", "", "mine.toml: title: missing"},
           Wrong{"quick_seconds", "quick_second", "unknown member"},
           Wrong{"{images}", "{imags}",
                 "mine.toml: here: {imags} has no value; did you mean 'images'?"},
           Wrong{"steps = \"300\"", "steps = \"{steps}\"", "contain each other"},
           Wrong{"[\"ratio\", \"method\"]", "\"rato\"", "mine.toml: lists.rato: missing"},
           Wrong{"\"accuracy\"", "\"acuracy\"",
                 "mine.toml: columns[0]: unknown name \"acuracy\"; did you mean 'accuracy'?"},
           Wrong{"name = \"smaller\"", "nam = \"smaller\"",
                 "mine.toml: columns[1]: unknown member \"nam\"; did you mean 'name'?"},
           Wrong{"\"accuracy\"", "{show = \"speed_up\", rate = \"fast\"}",
                 "mine.toml: columns[0].rate: 'fast' is not a rate"},
           Wrong{"{method} {ratio}\"\nfull", "{method}\"\nfull", "two arms are called 'DGC'"},
           Wrong{"train --steps", "rm -r", "mine.toml: arms[0].full: expected a command of train"},
           Wrong{"\"Top-k 0.1\"", "\"Top-k 0.2\"",
                 "mine.toml: rules[0].row: no row is called 'Top-k 0.2'; did you mean"},
           Wrong{"column = \"smaller\"", "column = \"larger\"", "no column is called 'larger'"},
           Wrong{"0.5 * 3", "0.5 * x", "mine.toml: rules[0].least: expected a number or a product"},
           Wrong{"0.5 * 3", "5", "its least is greater than its most"},
           Wrong{"most = \"9 / 2\"\n", "",
                 "expected least and most, or one of them and `one_side`"},
           Wrong{"most = \"9 / 2\"", "most = 9\none_side = \"so\"", "expected least and most"},
           Wrong{"9 / 2", "9 / 0", "mine.toml: rules[0].most: expected a number or a product"},
           Wrong{"bounded = \"ratio\"", "bounded = \"sum\"", "expected ratio or difference"},
           Wrong{"\"{ratio}x\"]", "\"\", \"\"]", "more figures than there are columns"},
       }) {
    std::string text = kWhole;
    const std::size_t at = text.find(wrong.before);
    ASSERT_NE(at, std::string::npos) << wrong.before;
    text.replace(at, std::string(wrong.before).size(), wrong.after);
    EXPECT_THAT(input_error([&] { parse_recipe("mine", text, "mine.toml"); }),
                HasSubstr(wrong.complaint))
        << wrong.after;
  }
}

// Each of sixteen of the one before.
TEST(RecipeFiles, CannotGrowWithoutBound) {
  std::string values = "a = \"\"\n";
  for (char name = 'b'; name <= 'f'; ++name) {
    values += std::string(1, name) + " = \"";
    for (int i = 0; i < 16; ++i) values += std::string("{") + static_cast<char>(name - 1) + "}";
    values += "\"\n";
  }
  std::string text = kWhole;
  const std::string before = "steps = \"300\"";
  text.replace(text.find(before), before.size(), values + "steps = \"{f}\"");
  EXPECT_THROW(parse_recipe("mine", text, "mine.toml"), InputError);
}

std::string reproduce_page() {
  return read_bytes(std::filesystem::path(THINPIPE_SOURCE_DIR) / "docs/reproduce.md");
}

// Returns the columns and pictures of thinpipe's recipes. Each one that exists is in some recipe.
std::set<std::string> shown_in_recipes() {
  const std::regex show("show = \"(\\w+)\""), table("\\{[^}]*\\}"), name("\"(\\w+)\"");
  std::set<std::string> shown;
  const auto add_all = [&](const std::string& text, const std::regex& pattern) {
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
      shown.insert((*at)[1].str());
  };
  for (const auto& [recipe, contents] : recipe_files()) {
    const std::string text(contents);
    add_all(text, show);
    const std::size_t begin = text.find("columns = [");
    if (begin == std::string::npos) continue;
    // Without its tables, the array has only columns that are a name alone.
    const std::string columns = text.substr(begin, text.find("]\n", begin) - begin);
    add_all(std::regex_replace(columns, table, ""), name);
  }
  return shown;
}

TEST(RecipeFiles, ColumnsAndPicturesAreDocumented) {
  const std::string documented = reproduce_page();
  for (const std::string& name : shown_in_recipes())
    EXPECT_NE(documented.find("`" + name + "`"), std::string::npos) << name;
}

TEST(RecipeFiles, HaveARowWithTitleAndDurationInTheDocumentation) {
  const std::string documented = reproduce_page();
  for (const std::string& name : recipe_names()) {
    const Recipe recipe = find_recipe(name);
    EXPECT_THAT(documented,
                ContainsRegex(fmt::format("\n\\| `{}` \\| [^|]*\\| [^|]*\\| {} \\| {} \\|", name,
                                          recipe.full_minutes, recipe.quick_seconds)));
    EXPECT_THAT(documented, HasSubstr(fmt::format("| `{}` | {} |", name, recipe.plan.title)));
  }
}

// The command "slow" costs more of both than "cheap" and "fast", and "some" has a
// training that did not reach the target.
TEST(Pictures, AParetoFrontHasTheCommandsThatNoOtherOneBeats) {
  std::vector<ArmRecords> arms;
  for (const auto& [label, bytes, seconds] :
       {std::tuple("fast", 300.0, 5.0), std::tuple("cheap", 100.0, 10.0),
        std::tuple("slow", 400.0, 20.0), std::tuple("some", 1.0, 1.0)}) {
    Point& point = arms.emplace_back(ArmRecords{.label = label}).records.points.emplace_back();
    point.metrics["target_bytes"].samples = {bytes};
    point.metrics["target_seconds"].samples = {seconds};
  }
  arms.back().records.points.emplace_back();
  const nlohmann::json request = {{"show", "costs_of_target"}, {"alt", "costs"}};
  const ReproductionPicture picture = read_picture({request, "mine.toml"}, {})(arms);
  EXPECT_EQ(picture.names, (std::vector<std::string>{"fast", "cheap", "slow", "Pareto front"}));
  std::vector<std::pair<double, double>> front;
  for (const ChartPoint& point : picture.chart.curves.back().points)
    front.emplace_back(point.x, point.y);
  EXPECT_EQ(front, (std::vector<std::pair<double, double>>{{100, 10}, {300, 5}}));
}

TEST(SpeltOut, WritesEveryParameterAndLeavesWhatIsNoSpec) {
  EXPECT_EQ(spelt_out("topk:ratio=0.01"), spelt_out("topk"));
  EXPECT_NE(spelt_out("topk:ratio=0.1"), spelt_out("topk"));
  EXPECT_EQ(spelt_out("conv*:none;*:topk"), "conv*:none;*:topk");
}

using Words = std::vector<std::string>;

TEST(PlacedWords, SayWhereOutputGoesAsTheVerbWantsIt) {
  EXPECT_EQ(placed_words({"run", "--ranks", "2"}, "a/b"),
            (Words{"run", "--ranks", "2", "--out", "a/b", "--resume"}));
  EXPECT_EQ(placed_words({"bench"}, "a/b"), (Words{"bench", "--out", "a/b"}));
  EXPECT_EQ(placed_words({"capture"}, "a/b"), (Words{"capture", "--out", "a/b/trace"}));
  EXPECT_EQ(placed_words({"predict"}, "a/b"), (Words{"predict", "--json"}));
}

TEST(RefuseOtherCommand, TellsAQuickTryFromTheWhole) {
  const TemporaryFolder folder;
  std::ofstream(folder / "command") << "thinpipe train --steps 600\n";
  EXPECT_NO_THROW(refuse_other_command(folder.path(), {"train", "--steps", "600"}));
  EXPECT_NO_THROW(refuse_other_command(folder / "new", {"train", "--steps", "600"}));
  EXPECT_THROW(refuse_other_command(folder.path(), {"train", "--steps", "60"}), InputError);
}

constexpr const char* kSquare =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"8\" height=\"8\"><rect width=\"8\" "
    "height=\"8\"/></svg>\n";

TEST(Paper, FiguresAreWrittenInTheirFormat) {
  const TemporaryFolder folder;
  const auto begins_with = [&](const std::string& format, const char* begin) {
    const std::filesystem::path file = folder / ("a." + format);
    write_figure(kSquare, format, folder.path(), file);
    EXPECT_TRUE(read_bytes(file).starts_with(begin)) << format;
  };
  begins_with("svg", "<svg");
  if (!find_in_path("rsvg-convert")) GTEST_SKIP() << "no rsvg-convert";
  begins_with("pdf", "%PDF-");
  begins_with("png", "\x89PNG");
  EXPECT_THROW(write_figure("no drawing", "pdf", folder.path(), folder / "b.pdf"), RunError);
  EXPECT_FALSE(std::filesystem::exists(folder / "b.pdf"));
}

TEST(Paper, WhatIsMissingIsNamedWithItsPackage) {
  const TemporaryFolder folder;
  const EnvironmentVariable path("PATH", "/nowhere");
  const auto png = [&] { write_figure(kSquare, "png", folder.path(), folder / "a.png"); };
  const auto pdf = [&] { write_page_pdf("<p>x", folder.path(), folder / "a.pdf"); };
  EXPECT_THAT(error_text<RunError>(png), HasSubstr("Debian: librsvg2-bin"));
  EXPECT_THAT(error_text<RunError>(pdf), HasSubstr("Debian: chromium"));
}

}  // namespace
}  // namespace thinpipe
