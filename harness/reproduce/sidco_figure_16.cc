// Abdelmoniem et al., SIDCo, fig. 16 (e) to (h): synthetic tensors of four sizes on a CPU.
#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/shared_rows.h"
#include "harness/reproduce/sidco_bench.h"

namespace thinpipe {

Recipe sidco_figure_16() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "sidco-fig16";
  plan.title = "compression speed at four sizes";
  plan.source =
      "Abdelmoniem et al., SIDCo (2021), fig. 16(e) to (h) and app. E.3: synthetic vectors of "
      "0.26, 2.6, 26 and 260 million elements on a CPU. DGC is the slowest, Top-k is before it, "
      "threshold estimation is the fastest, at every size.";
  plan.here = "The same sizes, values of a Laplace distribution, one core, without error feedback.";
  plan.differences = bench_differences();
  plan.rests_on_times = true;
  add_sidco_rows(recipe, "", "memory=none", false);
  recipe.needs = {.trusted_times = true, .memory = 6e9};
  struct Size {
    const char *label, *elements;
    bool in_quick;
  };
  for (const Size& size : {Size{"0.26 million", "260k", true}, Size{"2.6 million", "2.6m", true},
                           Size{"26 million", "26m", true}, Size{"260 million", "260m", false}}) {
    plan.columns.push_back(
        columns::of_arm(size.label, columns::named(size.label, columns::encode_speed_up("topk"))));
    const auto bench = [&](const std::vector<std::string>& length) {
      std::vector<std::string> words{"bench", "--size", size.elements};
      words.insert(words.end(), length.begin(), length.end());
      const std::vector<std::string> compressors = sidco_compressors("memory=none", false);
      words.insert(words.end(), compressors.begin(), compressors.end());
      return words;
    };
    recipe.arms.push_back({.label = size.label,
                           .full = bench({}),
                           .quick = size.in_quick ? bench({"--repetitions", "3", "--min-time",
                                                           "0.02", "--warmup", "3"})
                                                  : std::vector<std::string>{}});
    for (Expectation rule : sidco_speed_expectations(size.label)) {
      rule.says += std::string(", ") + size.label;
      plan.expectations.push_back(rule);
    }
  }
  recipe.full_minutes = 15;
  recipe.quick_seconds = 60;
  return recipe;
}

}  // namespace thinpipe
