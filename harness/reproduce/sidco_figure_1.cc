// Abdelmoniem et al., SIDCo, fig. 1: compression speed-up over Top-k and estimation quality.
#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/shared_rows.h"
#include "harness/reproduce/sidco_bench.h"

namespace thinpipe {

Recipe sidco_figure_1() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "sidco-fig1";
  plan.title = "how fast thresholds are found, and how well";
  plan.source =
      "Abdelmoniem et al., SIDCo (2021), fig. 1(b) and (c): VGG16's gradient at 0.1, 0.01 and "
      "0.001. On a CPU threshold estimation is faster than Top-k and DGC slower; SIDCo and DGC "
      "meet k, RedSync and GaussianK do not.";
  plan.here =
      "A vector of VGG16-CIFAR's 14,982,987 elements with the distribution of a captured "
      "ResNet-20's largest layer, on one core; k-hat over k on the captured gradients, without "
      "error feedback both.";
  plan.differences = bench_differences();
  plan.differences.emplace_back(
      "The paper's k-hat over k is of VGG16's training; here of a ResNet-20's, a few steps of it "
      "again and again.");
  plan.rests_on_times = true;
  plan.columns = {columns::of_arm("speed", columns::encode_speed_up("topk")),
                  columns::of_arm("speed", columns::encode_time()),
                  columns::of_arm("quality", columns::kept("quality"))};
  add_sidco_rows(recipe, "", "memory=none", false);
  plan.expectations = sidco_speed_expectations(columns::encode_speed_up("topk").name);
  for (const char* ratio : kSidcoRatios) {
    const auto row = [ratio](const char* method) { return std::string(method) + " " + ratio; };
    for (const char* method : {"SIDCo-E", "DGC"})
      plan.expectations.push_back({.says = row(method) + " meets k within 20 %",
                                   .arm = row(method),
                                   .least = 0.8,
                                   .most = 1.2,
                                   .bounded = Bounded::kValue,
                                   .column = columns::kept("quality").name});
  }
  recipe.needs = {.training = true, .trusted_times = true, .memory = 3e9, .disk = 100e6};
  const std::string trace = captured_trace(plan.name);
  const std::vector<std::string> compressors = sidco_compressors("memory=none", false);
  const auto bench = [&](const std::vector<std::string>& length) {
    std::vector<std::string> words{
        "bench", "--trace",
        "synthetic:elements=14982987,workers=1,steps=1,dist=fit,trace=" + trace};
    words.insert(words.end(), length.begin(), length.end());
    words.insert(words.end(), compressors.begin(), compressors.end());
    return words;
  };
  const auto quality = [&](const char* steps) {
    std::vector<std::string> words{"quality", "--trace", trace, "--steps", steps};
    words.insert(words.end(), compressors.begin(), compressors.end());
    return words;
  };
  recipe.arms = {
      capture_resnet20({"-w", "4", "--record", "20"}, {"-w", "2", "--record", "4", "--every", "3"}),
      {.label = "speed",
       .full = bench({}),
       .quick = bench({"--repetitions", "3", "--min-time", "0.02", "--warmup", "4"})},
      {.label = "quality", .full = quality("200"), .quick = quality("20")}};
  recipe.full_minutes = 10;
  recipe.quick_seconds = 80;
  return recipe;
}

}  // namespace thinpipe
