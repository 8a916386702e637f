// Recipes of reproductions, their commands, and the figures of the paper.
#include "harness/reproduce/recipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "base/error.h"
#include "compressors/registry.h"
#include "compressors/spec.h"
#include "harness/machine/programs.h"
#include "harness/paper/paper.h"
#include "harness/reproduce/parts.h"
#include "harness/reproduce/perform.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

bool has_arm(const Recipe& recipe, const std::string& label) {
  return std::any_of(recipe.arms.begin(), recipe.arms.end(),
                     [&](const RecipeArm& arm) { return arm.label == label; });
}

const RecipeArm& arm_of(const Recipe& recipe, const std::string& label) {
  return *std::find_if(recipe.arms.begin(), recipe.arms.end(),
                       [&](const RecipeArm& arm) { return arm.label == label; });
}

std::string full_command(const std::string& name, const std::string& label) {
  const Recipe& recipe = find_recipe(name);
  return command_of(arm_of(recipe, label).words(/*quick=*/false), arm_place(name, label));
}

TEST(Recipes, HaveNamesOfTheirOwnAndSayWhatTheyAre) {
  std::set<std::string> names;
  for (const Recipe& recipe : recipes()) {
    EXPECT_TRUE(names.insert(recipe.name()).second) << recipe.name();
    EXPECT_FALSE(recipe.plan.source.empty() || recipe.plan.here.empty()) << recipe.name();
    EXPECT_FALSE(recipe.plan.differences.empty()) << recipe.name();
    EXPECT_LE(recipe.plan.title.size(), 60U) << recipe.name();
    EXPECT_GT(recipe.full_minutes, 0) << recipe.name();
    EXPECT_GT(recipe.quick_seconds, 0) << recipe.name();
    EXPECT_LE(recipe.quick_seconds, 120) << recipe.name();
    EXPECT_EQ(recipe.needs.trusted_times, recipe.plan.rests_on_times) << recipe.name();
  }
}

TEST(Recipes, ExpectationsNameRowsAndColumnsThatAreThere) {
  for (const Recipe& recipe : recipes()) {
    EXPECT_FALSE(recipe.plan.expectations.empty()) << recipe.name();
    EXPECT_NO_THROW(reproduced(recipe.plan, {}, false)) << recipe.name();
    for (const Expectation& expected : recipe.plan.expectations)
      EXPECT_LE(expected.least, expected.most) << recipe.name() << expected.says;
  }
}

TEST(Recipes, RowsAndColumnsReadArmsThatAreThere) {
  for (const Recipe& recipe : recipes()) {
    for (const ReproductionColumn& column : recipe.plan.columns) {
      EXPECT_TRUE(column.format != nullptr && column.measure) << recipe.name() << column.name;
      EXPECT_TRUE(column.arm.empty() || has_arm(recipe, column.arm)) << recipe.name() << column.arm;
    }
    for (const ReproductionRow& row : recipe.plan.rows) {
      EXPECT_TRUE(row.arm.empty() || has_arm(recipe, row.arm)) << recipe.name() << row.arm;
      EXPECT_LE(row.paper.size(), recipe.plan.columns.size()) << recipe.name() << row.label;
      if (row.compressor.empty()) continue;
      EXPECT_NO_THROW(check_spec(parse_spec(row.compressor))) << row.compressor;
    }
  }
}

TEST(Recipes, CompressorsAreKnownAndFoldersApart) {
  for (const Recipe& recipe : recipes()) {
    std::set<std::string> folders;
    for (const RecipeArm& arm : recipe.arms) {
      EXPECT_TRUE(folders.insert(arm_place(recipe.name(), arm.label)).second) << arm.label;
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
  try {
    find_recipe("dgc-fig4");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "no recipe 'dgc-fig4'; did you mean 'dgc-fig3'?; `thinpipe reproduce --list` shows all");
  }
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

std::string beginning_of(const std::filesystem::path& file, std::size_t bytes) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  return text.substr(0, bytes);
}

/// PATH without any program while it lives.
class EmptyPath {
 public:
  EmptyPath() : before_(std::getenv("PATH")) { ::setenv("PATH", "/nowhere", 1); }
  ~EmptyPath() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST(Paper, FiguresAreWrittenInTheirFormat) {
  const TemporaryFolder folder;
  write_figure(kSquare, "svg", folder.path(), folder.path() / "a.svg");
  EXPECT_EQ(beginning_of(folder.path() / "a.svg", 4), "<svg");
  if (!find_in_path("rsvg-convert")) GTEST_SKIP() << "no rsvg-convert";
  write_figure(kSquare, "pdf", folder.path(), folder.path() / "a.pdf");
  EXPECT_EQ(beginning_of(folder.path() / "a.pdf", 5), "%PDF-");
  write_figure(kSquare, "png", folder.path(), folder.path() / "a.png");
  EXPECT_EQ(beginning_of(folder.path() / "a.png", 4), "\x89PNG");
  EXPECT_THROW(write_figure("no drawing", "pdf", folder.path(), folder.path() / "b.pdf"), RunError);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "b.pdf"));
}

TEST(Paper, WhatIsMissingIsNamedWithItsPackage) {
  const TemporaryFolder folder;
  const EmptyPath without;
  const auto said = [](auto&& work) -> std::string {
    try {
      work();
    } catch (const RunError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(said([&] {
              write_figure(kSquare, "png", folder.path(), folder.path() / "a.png");
            }).find("Debian: librsvg2-bin"),
            std::string::npos);
  EXPECT_NE(said([&] {
              write_page_pdf("<p>x", folder.path(), folder.path() / "a.pdf");
            }).find("Debian: chromium"),
            std::string::npos);
}

}  // namespace

}  // namespace thinpipe
