// Rows that recipes share; of SIDCo's figures also methods, ratios and gradients.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/reproduce/recipe.h"

namespace thinpipe {

/// The row of what is run in practice, beside a paper's own: every sweep measures it.
inline constexpr const char* kSummed16Bits = "16 bits, summed (bf16)";

/// SIDCo's three ratios, as specs write them.
inline constexpr const char* kSidcoRatios[] = {"0.1", "0.01", "0.001"};

/// "SIDCo-E", "sidco:ratio=R"; Top-k, DGC, RedSync and GaussianK first. `more` are parameters that
/// all get ("memory=none").
std::vector<std::pair<std::string, std::string>> sidco_methods(const std::string& ratio,
                                                               const std::string& more,
                                                               bool all_sidcos);

/// A row for each method at each ratio: "SIDCo-E 0.001".
void add_sidco_rows(Recipe& recipe, const std::string& arm, const std::string& more,
                    bool all_sidcos);

/// The same as `-c` and its alternatives, for one command.
std::vector<std::string> sidco_compressors(const std::string& more, bool all_sidcos);

/// Records gradients of a ResNet-20, quickly of a LeNet-5, at `NAME/trace/trace`: the first arm of
/// some recipes. @param full, quick  arguments of `thinpipe capture`
RecipeArm capture_resnet20(const std::vector<std::string>& full,
                           const std::vector<std::string>& quick);
/// The same, over a whole training by one worker.
RecipeArm capture_whole_training();
/// `thinpipe trace stats` of some steps of what was captured, without error feedback.
std::vector<std::string> stats_of_capture(const std::string& recipe, const char* steps);
/// Where that lies.
std::string captured_trace(const std::string& recipe);

}  // namespace thinpipe
