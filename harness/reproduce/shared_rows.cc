#include "harness/reproduce/shared_rows.h"

namespace thinpipe {
namespace {

// What stands between a method's name and its ratio.
struct SidcoMethod {
  const char *label, *spec;
};

constexpr SidcoMethod kCompared[] = {{"Top-k", "topk:"},
                                     {"DGC", "dgc:"},
                                     {"RedSync", "redsync:"},
                                     {"GaussianK", "gaussiank:"},
                                     {"SIDCo-E", "sidco:"}};
constexpr SidcoMethod kOtherSidcos[] = {{"SIDCo-GP", "sidco:dist=gamma,"},
                                        {"SIDCo-P", "sidco:dist=gpareto,"}};

std::vector<SidcoMethod> methods_compared(bool all_sidcos) {
  std::vector<SidcoMethod> methods(std::begin(kCompared), std::end(kCompared));
  if (all_sidcos) methods.insert(methods.end(), std::begin(kOtherSidcos), std::end(kOtherSidcos));
  return methods;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> sidco_methods(const std::string& ratio,
                                                               const std::string& more,
                                                               bool all_sidcos) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const SidcoMethod& method : methods_compared(all_sidcos))
    found.emplace_back(method.label, method.spec + more + ",ratio=" + ratio);
  return found;
}

void add_sidco_rows(Recipe& recipe, const std::string& arm, const std::string& more,
                    bool all_sidcos) {
  for (const char* ratio : kSidcoRatios)
    for (const auto& [label, spec] : sidco_methods(ratio, more, all_sidcos))
      recipe.plan.rows.push_back(
          {.label = label + " " + ratio, .arm = arm, .compressor = spec, .paper = {}});
}

std::vector<std::string> sidco_compressors(const std::string& more, bool all_sidcos) {
  std::vector<std::string> words;
  for (const auto& [label, spec] : sidco_methods("0.1|0.01|0.001", more, all_sidcos))
    words.insert(words.end(), {"-c", spec});
  return words;
}

RecipeArm capture_resnet20(const std::vector<std::string>& full,
                           const std::vector<std::string>& quick) {
  // The loss of a ResNet-20 takes longer to fall than a try may.
  RecipeArm arm{.label = "trace",
                .full = {"capture", "-m", "resnet20"},
                .quick = {"capture", "-m", "lenet5", "-s", "60"}};
  arm.full.insert(arm.full.end(), full.begin(), full.end());
  arm.quick.insert(arm.quick.end(), quick.begin(), quick.end());
  return arm;
}

RecipeArm capture_whole_training() {
  return capture_resnet20(
      {"-w", "1", "-s", "240", "--record", "24", "--every", "10", "--from", "5"},
      {"-w", "1", "--record", "18", "--every", "3"});
}

std::vector<std::string> stats_of_capture(const std::string& recipe, const char* steps) {
  return {"trace", "stats", captured_trace(recipe), "--steps", steps, "--no-feedback"};
}

std::string captured_trace(const std::string& recipe) {
  return arm_place(recipe, "trace") + "/trace";
}

}  // namespace thinpipe
