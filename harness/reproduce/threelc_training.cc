// Recipes from Lim et al., 3LC (2018), that train: traffic, sizes, accuracy.

#include <string>
#include <vector>

#include "harness/reproduce/parts.h"
#include "harness/reproduce/recipe.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {

// What they share: the designs, and the training that 3LC's traffic is measured on.

namespace {

// One of those that the paper's table 1 compares.
struct ThreelcDesign {
  const char *label, *spec;
  const char* accuracy;  // the paper's, after all of its steps
};

// ResNet-20 with a parameter server, cosine decay and augmentation, as in 3LC's section 5.2; the
// arm is called "training". @param compressors  with `-c`
RecipeArm threelc_training(const std::vector<std::string>& compressors) {
  const auto with = [&compressors](const std::vector<std::string>& length) {
    std::vector<std::string> words{"train",
                                   "-m",
                                   "resnet20",
                                   "-w",
                                   "4",
                                   "--pattern",
                                   "ps",
                                   "--topology",
                                   "ps",
                                   "--link",
                                   "rate=1gbit",
                                   "--compute-time",
                                   "0",
                                   "--augment",
                                   "--lr-schedule",
                                   "cosine",
                                   "--optimiser",
                                   "sgd:lr=0.1,momentum=0.9",
                                   "--check-every",
                                   "100",
                                   "--no-baseline"};
    words.insert(words.end(), length.begin(), length.end());
    words.insert(words.end(), compressors.begin(), compressors.end());
    return words;
  };
  return {.label = "training",
          .full = with({"--steps", "300", "--seeds", "3", "--eval-every", "100"}),
          .quick = with({"--steps", "10", "--seeds", "1", "--eval-every", "10", "--batch", "8"})};
}

// All eleven, in its order; the baseline first.
const std::vector<ThreelcDesign>& threelc_designs() {
  static const std::vector<ThreelcDesign> designs = {
      {"32-bit float", "none", "93.37 %"},
      {"8-bit int", "int8", "93.33 %"},
      {"Stoch 3-value + QE", "stoch3", "92.06 %"},
      {"MQE 1-bit int", "mqe1bit", "93.21 %"},
      {"25% sparsification", "topk:ratio=0.25", "93.40 %"},
      {"5% sparsification", "topk:ratio=0.05", "92.87 %"},
      {"2 local steps", "fedavg:delay=2", "93.03 %"},
      {"3LC (s=1.00)", "3lc", "93.32 %"},
      {"3LC (s=1.50)", "3lc:s=1.5", "93.29 %"},
      {"3LC (s=1.75)", "3lc:s=1.75", "93.51 %"},
      {"3LC (s=1.90)", "3lc:s=1.9", "93.10 %"},
  };
  return designs;
}

// What it differs in from the paper's.
std::vector<std::string> threelc_differences() {
  return {
      "A ResNet-20 on drawn images for 300 steps, 4 workers; the paper trained a ResNet-110 on "
      "CIFAR-10 for 25,600 steps, 10 workers. Gradients of a longer training are sparser to 3LC.",
      "The server answers with the compressed mean gradient, not with a model delta: momentum is "
      "the workers' (docs/patterns.md).",
      "All layers are compressed; the paper leaves those of batch normalisation out, which are 1 % "
      "of this model: as 32-bit floats they alone would take 0.28 bits an element."};
}

}  // namespace

// Table 2: average traffic compression.

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

// Figure 9: compressed size over a training.

namespace {

// The paper: "after finishing approximately 70 % of training".
constexpr double kTurn = 0.7;

ReproductionPicture sizes_over_steps(const std::vector<ArmRecords>& arms) {
  ReproductionPicture picture =
      empty_picture("sizes", "Bits an element that 3LC pushes and pulls, step by step",
                    "training step", "bits an element", false);
  for (const ArmRecords& arm : arms)
    for (const Point& point : arm.records.points)
      for (const bool pulled : {false, true})
        if (point.axes.seed <= 1)
          add_line(
              picture,
              spec_value(point.axes.compressor, "s", "s=") + (pulled ? ", pulled" : ", pushed"),
              running_mean(columns::bits_by_step(point, pulled), 5));
  return picture;
}

}  // namespace

Recipe threelc_figure_9() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "3lc-fig9";
  plan.title = "compressed size over a training with 3LC";
  plan.source =
      "Lim et al., 3LC (2018), fig. 9: bits for each state change by training step, ResNet-110, s "
      "= 1.00 and 1.75. Compressed pushes tend to be smaller than pulls until about 70 % of the "
      "training; then they become larger.";
  plan.here = "A ResNet-20 with 4 workers and a parameter server, payloads as they were sent.";
  plan.differences = threelc_differences();
  plan.columns = {
      columns::named("pushed, to 70 %", columns::bits_during(false, 0, kTurn)),
      columns::named("pulled, to 70 %", columns::bits_during(true, 0, kTurn)),
      columns::named("pushed, then", columns::bits_during(false, kTurn, 1)),
      columns::named("pulled, then", columns::bits_during(true, kTurn, 1)),
  };
  plan.rows = {{.label = "s=1.00", .arm = "training", .compressor = "3lc", .paper = {}},
               {.label = "s=1.75", .arm = "training", .compressor = "3lc:s=1.75", .paper = {}}};
  for (const char* row : {"s=1.00", "s=1.75"}) {
    plan.expectations.push_back(
        {.says = std::string("pushes are smaller than pulls at first, ") + row,
         .arm = row,
         .than = row,
         .most = 1,
         .bounded = Bounded::kRatio,
         .column = "pushed, to 70 %",
         .than_column = "pulled, to 70 %"});
    plan.expectations.push_back({.says = std::string("pushes become larger, ") + row,
                                 .arm = row,
                                 .than = row,
                                 .least = 1,
                                 .bounded = Bounded::kRatio,
                                 .column = "pushed, then",
                                 .than_column = "pulled, then"});
    plan.expectations.push_back({.says = std::string("sizes change over the training, ") + row,
                                 .arm = row,
                                 .than = row,
                                 .least = 1.05,
                                 .bounded = Bounded::kRatio,
                                 .column = "pushed, then",
                                 .than_column = "pushed, to 70 %"});
  }
  plan.picture = sizes_over_steps;
  recipe.needs.training = true;
  recipe.arms = {threelc_training({"-c", "3lc:s=1|1.75"})};
  recipe.full_minutes = 7;
  recipe.quick_seconds = 40;
  return recipe;
}

// Figures 4 and 8: accuracy against training time, for four lengths of training.

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

Expectation as_accurate(const std::string& arm, const std::string& than, const char* length,
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
  plan.expectations.push_back(as_accurate(best, "32-bit float", "100 %", -1,
                                          "3LC (s=1.75) keeps the accuracy, with all steps"));
  for (const char* length : {"25 %", "50 %"})
    plan.expectations.push_back(
        as_accurate("3LC (s=1.00)", best, length, 0,
                    std::string("s=1.00 is better than s=1.75 after ") + length));
  plan.expectations.push_back(as_accurate("3LC (s=1.00)", "Stoch 3-value + QE", "100 %", 0,
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

// Table 1: accuracies. (Its speed-ups are a matter of links, not of learning: threelc_speedup.cc.)

Recipe threelc_accuracy() {
  Recipe recipe;
  recipe.plan.name = "3lc-accuracy";
  recipe.plan.title = "accuracy under 3LC and what it was compared with";
  recipe.plan.source =
      "Lim et al., 3LC (2018), table 1: ResNet-110 on CIFAR-10, 10 workers and a parameter server, "
      "163.84 epochs, test accuracy.";
  recipe.plan.here =
      "LeNet-5 on drawn digits, 4 workers, ring and all-gather instead of a server (which would "
      "quantise the answers too). Bits over time are in the records.";
  recipe.plan.differences = {small_models_differ()};
  recipe.plan.columns = trained_columns(columns::accuracy());
  CommonTraining common;
  // Momentum behind a memory is a matter of its own (ef-momentum). With s = 1.9 only what is within
  // 5 % of the largest is sent: it takes hundreds of steps until the rest has gathered so much.
  common.optimiser = "sgd:lr=0.1,momentum=0";
  common.words = small_images();
  common.words.insert(common.words.end(), {"--lr-schedule", "cosine", "--batch", "32"});
  common.full = {"--steps", "1000", "--seeds", "3"};
  common.quick = {"--steps", "30", "--seeds", "1"};
  std::vector<TrainedArm> trainings;
  for (const ThreelcDesign& design : threelc_designs())
    trainings.push_back({design.label, design.accuracy, design.spec});
  add_trainings(recipe, common, trainings);
  const auto as_good = [](const char* arm) {
    return Expectation{.says = std::string(arm) + " learns as well as the baseline",
                       .arm = arm,
                       .than = "32-bit float",
                       .least = -1};
  };
  recipe.plan.expectations = {
      as_good("3LC (s=1.00)"),
      as_good("3LC (s=1.75)"),
      as_good("3LC (s=1.90)"),
      as_good("8-bit int"),
      {.says = "stochastic ternary values are below 3LC",
       .arm = "Stoch 3-value + QE",
       .than = "3LC (s=1.00)",
       .most = 0},
  };
  recipe.full_minutes = 45;
  recipe.quick_seconds = 110;
  return recipe;
}

}  // namespace thinpipe
