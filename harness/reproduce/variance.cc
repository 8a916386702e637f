// Recipes from Tsuzuku et al., Variance-based Gradient Compression (2018).

#include <fmt/format.h>

#include "harness/reproduce/parts.h"
#include "harness/reproduce/recipe.h"

namespace thinpipe {

// Table 1: with Adam.

Recipe variance_table_1() {
  Recipe recipe;
  recipe.plan.name = "variance-table1";
  recipe.plan.title = "which elements are unambiguous: Strom, variance, both";
  recipe.plan.source =
      "Tsuzuku et al., Variance-based Gradient Compression (2018), table 1, Adam: a VGG-like "
      "network on CIFAR-10, 8 workers. Accuracy and parameters over parameters sent: 88.1 % "
      "without, Strom 62.8 to 88.0 %, variance 88.9 % at 121 to 913, hybrid 85.0 to 88.2 %, QSGD "
      "with 2 bits 88.8 % at 12.";
  recipe.plan.here =
      "LeNet-5 on drawn digits, 4 workers, Adam. Second moments are computed by a backward pass "
      "for every sample, as the method asks.";
  recipe.plan.differences = {small_models_differ()};
  recipe.plan.columns = trained_columns(columns::accuracy());
  CommonTraining common;
  common.words = small_images();
  common.optimiser = "adam:lr=0.001";
  common.full = {"--steps", "300", "--seeds", "5"};
  common.quick = {"--steps", "20", "--seeds", "1"};
  add_trainings(recipe, common,
                {
                    {"no compression", "88.1 %", "none"},
                    {"Strom 0.001", "62.8 %", "strom:tau=0.001", {}, {}, "88.5x"},
                    {"Strom 0.01", "85.0 %", "strom:tau=0.01", {}, {}, "230.1x"},
                    {"Strom 0.1", "88.0 %", "strom:tau=0.1", {}, {}, "6942.8x"},
                    {"variance 1", "88.9 %", "variance", {}, {}, "120.7x"},
                    {"variance 1.5", "88.9 %", "variance:alpha=1.5", {}, {}, "453.3x"},
                    {"variance 2", "88.9 %", "variance:alpha=2", {}, {}, "913.4x"},
                    {"hybrid 0.01", "85.0 %", "hybrid:tau=0.01,alpha=2", {}, {}, "1942.2x"},
                    {"hybrid 0.1", "88.2 %", "hybrid:tau=0.1,alpha=2", {}, {}, "12822.4x"},
                    {"QSGD 2 bits", "88.8 %", "qsgd:bits=2,bucket=128", {}, {}, "12.3x"},
                });
  const auto as_good = [](const char* arm) {
    return Expectation{.says = std::string(arm) + " learns as well as without compression",
                       .arm = arm,
                       .than = "no compression",
                       .least = -1};
  };
  recipe.plan.expectations = {as_good("variance 1"), as_good("variance 1.5"),
                              as_good("variance 2")};
  recipe.full_minutes = 60;
  recipe.quick_seconds = 85;
  return recipe;
}

// Table 2: with momentum SGD.

Recipe variance_table_2() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "variance-table2";
  plan.title = "Strom, variance and both with momentum SGD";
  plan.source =
      "Tsuzuku et al., Variance-based Gradient Compression (2018), table 2, momentum SGD: "
      "ResNet-50 on ImageNet, 16 workers. Accuracy, and parameters over parameters sent.";
  plan.here =
      "LeNet-5 on drawn digits, 4 workers, momentum SGD; dense bytes over payload bytes, where an "
      "element takes one 32-bit word as in the paper.";
  plan.differences = {small_models_differ(),
                      "How much is sent goes by the gradients' noise and scale, which are other "
                      "ones: rates are of the model, not of the method."};
  plan.columns = trained_columns(columns::accuracy());
  const CommonTraining common{.words = small_images(),
                              .full = {"--steps", "300", "--seeds", "5"},
                              .quick = {"--steps", "20", "--seeds", "1"}};
  add_trainings(recipe, common,
                {{"no compression", "76.0 %", "none", {}, {}, "1x"},
                 {"Strom 0.001", "75.2 %", "strom:tau=0.001", {}, {}, "2.1x"},
                 {"Strom 0.01", "75.5 %", "strom:tau=0.01", {}, {}, "35.2x"},
                 {"Strom 0.1", "75.5 %", "strom:tau=0.1", {}, {}, "2002.2x"},
                 {"variance 1", "74.7 %", "variance", {}, {}, "103.8x"},
                 {"variance 1.5", "75.5 %", "variance:alpha=1.5", {}, {}, "400.7x"},
                 {"variance 2", "75.1 %", "variance:alpha=2", {}, {}, "990.7x"},
                 {"hybrid 0.01", "75.0 %", "hybrid:tau=0.01,alpha=2", {}, {}, "470.9x"},
                 {"hybrid 0.1", "75.1 %", "hybrid:tau=0.1,alpha=2", {}, {}, "4345.0x"}});
  for (const char* arm : {"variance 1", "variance 1.5", "variance 2", "hybrid 0.01", "hybrid 0.1"})
    plan.expectations.push_back(
        {.says = std::string(arm) + " learns nearly as well as without compression",
         .arm = arm,
         .than = "no compression",
         .least = -1.5});
  const auto sends_less = [&](const char* arm, const char* than) {
    plan.expectations.push_back({.says = std::string(arm) + " sends less than " + than,
                                 .arm = arm,
                                 .than = than,
                                 .least = 1,
                                 .bounded = Bounded::kRatio,
                                 .column = "times smaller"});
  };
  sends_less("variance 1.5", "variance 1");
  sends_less("variance 2", "variance 1.5");
  sends_less("hybrid 0.1", "Strom 0.1");
  recipe.full_minutes = 60;
  recipe.quick_seconds = 80;
  return recipe;
}

// Section 5: speed-up of communication.

namespace {

constexpr double kRate = 100e6;
// Top-k at 1 % sends 64 bits for each element sent, of 32 bits an element.
constexpr double kTimesSmaller = 50;

// Ring all-reduce over the most that pipelined all-gather takes: 2 (p - 1) c / p^2.
double least_speedup(int workers) {
  return 2.0 * (workers - 1) * kTimesSmaller / workers / workers;
}

// A worker receives the others' payloads, not its own, which that bound counts: p / (p - 1) more.
double speedup_without_its_own(int workers) { return 2 * kTimesSmaller / workers; }

std::vector<std::string> exchange_of(int workers, const char* elements,
                                     const std::vector<std::string>& length) {
  std::vector<std::string> words{
      "run",
      "--trace",
      fmt::format("synthetic:elements={},workers={},steps=2", elements, workers),
      "--ranks",
      std::to_string(workers),
      "--link",
      "rate=100mbit",
      "-c",
      "topk:ratio=0.01,memory=none"};
  words.insert(words.end(), length.begin(), length.end());
  return words;
}

}  // namespace

Recipe variance_speedup() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "variance-speedup";
  plan.title = "how much faster an exchange is c times smaller";
  plan.source =
      "Tsuzuku et al., Variance-based Gradient Compression (2018), sec. 5: with p workers and a "
      "rate c, pipelined all-gather instead of ring all-reduce is 2 (p-1) c / p^2 times as fast: "
      "linear in c, and less with more workers.";
  plan.here =
      "8 million random elements at 100 Mbit/s, rings of both kinds, c = 50 (Top-k at 1 %, 64 bits "
      "an element sent); the exchange alone.";
  plan.differences = {
      "The paper's time of an all-gather is an upper bound that counts a worker's own payload "
      "among those it receives: without it the exchange is p/(p-1) times as fast, 2c/p in all.",
      "The model leaves out latency and pipeline fill; links here let a burst through at once, "
      "which favours small messages.",
      "Ranks share this machine's cores."};
  plan.rests_on_times = true;
  plan.columns = {columns::exchange_speed_up(kRate)};
  for (const int workers : {2, 4, 8}) {
    const std::string label = fmt::format("{} workers", workers);
    const double model = least_speedup(workers);
    plan.rows.push_back({.label = label,
                         .arm = label,
                         .compressor = "topk:ratio=0.01,memory=none",
                         .paper = {format_times(model)}});
    plan.rows.push_back(
        {.label = label + ", " + kSummed16Bits, .arm = label, .compressor = "bf16", .paper = {}});
    plan.expectations.push_back({.says = label + ": what the paper says, or more",
                                 .arm = label,
                                 .least = 0.95 * model,
                                 .bounded = Bounded::kValue});
    plan.expectations.push_back({.says = label + ": 2c/p within 15 %",
                                 .arm = label,
                                 .least = 0.85 * speedup_without_its_own(workers),
                                 .most = 1.15 * speedup_without_its_own(workers),
                                 .bounded = Bounded::kValue});
    recipe.arms.push_back(
        {.label = label,
         .full = exchange_of(workers, "8m", {"--repeats", "5", "--steps", "6", "--warmup", "1"}),
         .quick = exchange_of(workers, "4m", {"--steps", "3", "--warmup", "1"})});
  }
  recipe.needs = {.trusted_times = true, .memory = 3e9};
  recipe.full_minutes = 12;
  recipe.quick_seconds = 80;
  return recipe;
}

}  // namespace thinpipe
