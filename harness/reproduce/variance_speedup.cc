// Tsuzuku et al., Variance-based Gradient Compression, section 5: speed-up of communication.
#include <fmt/format.h>

#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/shared_rows.h"

namespace thinpipe {
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
