// Lim et al., 3LC, figs. 4 and 8: accuracy against training time, for four lengths of training.
#include "harness/reproduce/arm.h"
#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/pictures.h"
#include "harness/reproduce/threelc_training.h"
#include "reports/statistics/quantile.h"

namespace thinpipe {
namespace {

struct Length {
  const char* label;
  const char *full, *quick;  ///< steps; "" is left out of a try
};

constexpr Length kLengths[] = {
    {"25 %", "60", "4"}, {"50 %", "120", ""}, {"75 %", "180", ""}, {"100 %", "240", "8"}};

std::string row_of_length(const std::string& design, const std::string& length) {
  return design + ", " + length;
}

std::string arm_of_length(const Length& length) { return std::string("steps ") + length.label; }

std::vector<std::string> trainings_of_length(const char* steps,
                                             const std::vector<std::string>& more) {
  // A dense step takes 24 times what it computes. Neither 1.75 nor 1.90 is more than 22.8 times as
  // fast as the baseline at 10 Mbit/s in the paper's table 1, as though nothing but the computing
  // were left: ten times the rate and a thirtieth of its second keep that.
  std::vector<std::string> words{"train",
                                 "-m",
                                 "resnet20",
                                 "-w",
                                 "2",
                                 "--pattern",
                                 "ps",
                                 "--topology",
                                 "ps",
                                 "--link",
                                 "rate=100mbit",
                                 "--compute-time",
                                 "0.008",
                                 "--augment",
                                 "--lr-schedule",
                                 "cosine",
                                 "--optimiser",
                                 "sgd:lr=0.1,momentum=0",
                                 "--check-every",
                                 "60",
                                 "--eval-every",
                                 "1000",
                                 "--no-baseline",
                                 "--steps",
                                 steps};
  words.insert(words.end(), more.begin(), more.end());
  for (const ThreelcDesign& design : threelc_designs())
    words.insert(words.end(), {"-c", design.spec});
  return words;
}

// A line a design through its four lengths.
ReproductionPicture accuracy_over_time(const std::vector<ArmRecords>& arms) {
  ReproductionPicture picture =
      empty_picture("tradeoff", "Held-out accuracy against training time, a quarter to all steps",
                    "training time, emulated seconds", "accuracy, %", false);
  picture.chart.x.is_log = true;
  const ReproductionColumn time = columns::training_seconds(), quality = columns::accuracy();
  for (const ThreelcDesign& design : threelc_designs()) {
    std::vector<double> x, y;
    for (const ArmRecords& arm : arms) {
      const MeasuredCell seconds = time.measure(arm, spelt_out(design.spec)),
                         accuracies = quality.measure(arm, spelt_out(design.spec));
      if (seconds.repetitions.empty() || accuracies.repetitions.empty()) continue;
      x.push_back(mean(seconds.values()));
      y.push_back(mean(accuracies.values()));
    }
    add_points(picture, design.label, x, y);
  }
  return picture;
}

Expectation ends_sooner(const std::string& arm, const std::string& than, const std::string& says) {
  return {.says = says,
          .arm = row_of_length(arm, "100 %"),
          .than = row_of_length(than, "100 %"),
          .most = 1,
          .bounded = Bounded::kRatio,
          .column = "training time"};
}

Expectation as_good(const std::string& arm, const std::string& than, const char* length,
                    double least, const std::string& says) {
  return {.says = says,
          .arm = row_of_length(arm, length),
          .than = row_of_length(than, length),
          .least = least};
}

}  // namespace

Recipe threelc_figure_4() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "3lc-fig4";
  plan.title = "accuracy against time, for four lengths of training";
  plan.source =
      "Lim et al., 3LC (2018), figs. 4 and 8, sec. 5.3, 5.4: ResNet-110 on CIFAR-10, 10 workers "
      "and a parameter server at 10 Mbit/s, trained for 25, 50, 75 and 100 % of the standard steps "
      "with the cosine decay of that length. 3LC (s=1.75) takes least time and keeps its accuracy "
      "with all steps; with fewer, s=1.00 is better; stochastic ternary values are below 3LC. "
      "Accuracies printed are those of 100 % (table 1).";
  plan.here =
      "A ResNet-20 on drawn images, 2 workers and a server, 60 to 240 steps. A step computes so "
      "long that without compression the exchange takes 24 times as long, as at 10 Mbit/s in the "
      "paper, on links of 100.";
  plan.differences = {
      "Two workers, so that times are believed on two cores; 240 steps, the paper has 25,600.",
      "The server answers with the compressed mean gradient, not with a model delta "
      "(docs/patterns.md).",
      "Plain SGD, the paper has a momentum of 0.9: behind a memory it needs longer trainings "
      "(ef-momentum). The rate and the number of steps were chosen by the baseline, which learns "
      "as long as there are steps.",
      "All layers are compressed; the paper leaves those of batch normalisation out."};
  plan.rests_on_times = true;
  plan.columns = {columns::accuracy(), columns::training_seconds(),
                  columns::server_times_smaller()};
  for (const ThreelcDesign& design : threelc_designs())
    for (const Length& length : kLengths) {
      ReproductionRow row{.label = row_of_length(design.label, length.label),
                          .arm = arm_of_length(length),
                          .compressor = design.spec,
                          .paper = {}};
      if (std::string(length.label) == "100 %") row.paper = {design.accuracy};
      plan.rows.push_back(row);
    }
  const char* best = "3LC (s=1.75)";
  for (const char* slower : {"32-bit float", "8-bit int", "MQE 1-bit int", "Stoch 3-value + QE",
                             "5% sparsification", "2 local steps", "3LC (s=1.00)"})
    plan.expectations.push_back(
        ends_sooner(best, slower, std::string("3LC (s=1.75) ends before ") + slower));
  plan.expectations.push_back(as_good(best, "32-bit float", "100 %", -1,
                                      "3LC (s=1.75) keeps the accuracy, with all steps"));
  for (const char* length : {"25 %", "50 %"})
    plan.expectations.push_back(
        as_good("3LC (s=1.00)", best, length, 0,
                std::string("s=1.00 is better than s=1.75 after ") + length));
  plan.expectations.push_back(as_good("3LC (s=1.00)", "Stoch 3-value + QE", "100 %", 0,
                                      "stochastic ternary values are below 3LC"));
  plan.picture = accuracy_over_time;
  recipe.needs = {.training = true, .trusted_times = true};
  for (const Length& length : kLengths) {
    recipe.arms.push_back({.label = arm_of_length(length),
                           .full = trainings_of_length(length.full, {"--seeds", "3"}),
                           .quick = {}});
    if (length.quick[0] != '\0')
      recipe.arms.back().quick =
          trainings_of_length(length.quick, {"--seeds", "1", "--batch", "8"});
  }
  recipe.full_minutes = 52;
  recipe.quick_seconds = 70;
  return recipe;
}

}  // namespace thinpipe
