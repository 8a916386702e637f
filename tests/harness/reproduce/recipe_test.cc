#include "harness/reproduce/recipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "compressors/registry.h"
#include "compressors/spec.h"
#include "harness/reproduce/reproduce.h"

namespace thinpipe {
namespace {

TEST(Recipes, HaveNamesOfTheirOwnAndSayWhatTheyAre) {
  std::set<std::string> names;
  for (const Recipe& recipe : recipes()) {
    EXPECT_TRUE(names.insert(recipe.name).second) << recipe.name;
    EXPECT_FALSE(recipe.source.empty() || recipe.here.empty()) << recipe.name;
    EXPECT_LE(recipe.title.size(), 60U) << recipe.name;
    EXPECT_GT(recipe.full_minutes, 0) << recipe.name;
  }
}

TEST(Recipes, ExpectationsNameArmsThatAreThere) {
  for (const Recipe& recipe : recipes()) {
    EXPECT_FALSE(recipe.expectations.empty()) << recipe.name;
    const auto is_arm = [&](const std::string& label) {
      return std::any_of(recipe.arms.begin(), recipe.arms.end(),
                         [&](const RecipeArm& arm) { return arm.label == label; });
    };
    for (const Expectation& expected : recipe.expectations) {
      EXPECT_TRUE(is_arm(expected.arm) && is_arm(expected.than)) << recipe.name << expected.says;
      EXPECT_LE(expected.least, expected.most) << recipe.name << expected.says;
    }
  }
}

TEST(Recipes, CompressorsAreKnownAndFoldersApart) {
  for (const Recipe& recipe : recipes()) {
    std::set<std::filesystem::path> folders;
    for (const RecipeArm& arm : recipe.arms) {
      EXPECT_NO_THROW(check_spec(parse_spec(arm.compressor))) << arm.compressor;
      EXPECT_TRUE(folders.insert(arm_folder("out", recipe, arm)).second) << arm.label;
    }
  }
}

TEST(Recipes, AnUnknownOneIsNamed) {
  try {
    find_recipe("dgc-fig4");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "no recipe 'dgc-fig4'; did you mean 'dgc-fig3'?; `thinpipe reproduce --list` shows "
        "all");
  }
}

}  // namespace
}  // namespace thinpipe
