// Every figure of training_results() stands in its recipe's page.
#include "harness/advise/training_results.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace thinpipe {
namespace {

// Returns whether the page has a table row with this name and a cell with this figure.
bool in_page(const std::string& recipe, const std::string& row, const std::string& figure) {
  const std::filesystem::path page =
      std::filesystem::path(THINPIPE_SOURCE_DIR) / "docs/results/reproduce" / (recipe + ".md");
  std::ifstream file(page);
  EXPECT_TRUE(file) << page;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| " + row + " |") && line.find("| " + figure + " |") != std::string::npos)
      return true;
  return false;
}

TEST(TrainingResults, AreThoseOfThePages) {
  for (const TrainingResult& result : training_results()) {
    EXPECT_TRUE(in_page(result.recipe, result.row, result.figure)) << to_string(result);
    EXPECT_TRUE(in_page(result.recipe, result.baseline_row, result.baseline_figure))
        << to_string(result);
  }
}

TEST(TrainingResults, AreFoundByAllParameters) {
  EXPECT_EQ(trainings_with(parse_spec("topk:ratio=0.01")).size(), 3U);
  EXPECT_EQ(trainings_with(parse_spec("topk:ratio=0.01,memory=residual")).size(), 3U);
  EXPECT_TRUE(trainings_with(parse_spec("topk:ratio=0.01,memory=none")).empty());
  EXPECT_EQ(to_string(trainings_with(parse_spec("powersgd:rank=4")).front()),
            "perplexity 8.68 (8.56 to 8.8), without compression 8.38 (8.29 to 8.47): character "
            "LSTM, 4 workers, SGD with momentum (recipe modern)");
}

}  // namespace
}  // namespace thinpipe
