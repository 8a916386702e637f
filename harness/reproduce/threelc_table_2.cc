// Lim et al., 3LC, table 2: average traffic compression.
#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/threelc_training.h"

namespace thinpipe {

Recipe threelc_table_2() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "3lc-table2";
  plan.title = "how small 3LC makes pushes and pulls";
  plan.source =
      "Lim et al., 3LC (2018), table 2: average traffic compression over a training of ResNet-110 "
      "on CIFAR-10, 10 workers and a parameter server; gradient pushes and model pulls together.";
  plan.here =
      "The same average over a training of a ResNet-20 with 4 workers and a parameter server, "
      "payloads as they were sent.";
  plan.differences = threelc_differences();
  plan.columns = {columns::server_times_smaller(), columns::server_bits(), columns::accuracy()};
  const auto row = [&](const char* label, const char* spec, const char* times, const char* bits) {
    plan.rows.push_back({.label = label,
                         .arm = "training",
                         .compressor = spec,
                         .paper = {std::string(times) + "x", bits, ""}});
  };
  row("no ZRE", "3lc:zre=false", "20.0", "1.60");
  row("s=1.00", "3lc", "39.4", "0.812");
  row("s=1.50", "3lc:s=1.5", "70.9", "0.451");
  row("s=1.75", "3lc:s=1.75", "107", "0.298");
  row("s=1.90", "3lc:s=1.9", "160", "0.200");
  const auto smaller = [](const char* arm, const char* than, const char* says) {
    return Expectation{
        .says = says, .arm = arm, .than = than, .least = 1, .bounded = Bounded::kRatio};
  };
  plan.expectations = {
      {.says = "quartic encoding alone takes 1.6 bits an element",
       .arm = "no ZRE",
       .least = 1.55,
       .most = 1.7,
       .bounded = Bounded::kValue,
       .column = "bits an element"},
      {.says = "zero-run encoding halves it at least",
       .arm = "s=1.00",
       .than = "no ZRE",
       .least = 1.9,
       .bounded = Bounded::kRatio},
      smaller("s=1.50", "s=1.00", "a greater s sends less: 1.5"),
      smaller("s=1.75", "s=1.50", "1.75"),
      smaller("s=1.90", "s=1.75", "1.9"),
  };
  recipe.needs.training = true;
  recipe.arms = {threelc_training({"-c", "3lc:zre=false", "-c", "3lc:s=1|1.5|1.75|1.9"})};
  recipe.full_minutes = 20;
  recipe.quick_seconds = 80;
  return recipe;
}

}  // namespace thinpipe
