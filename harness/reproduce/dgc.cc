// Recipes from Lin et al., Deep Gradient Compression (ICLR 2018).

#include <fmt/format.h>

#include "harness/reproduce/parts.h"
#include "harness/reproduce/recipe.h"

namespace thinpipe {

// Table 1 and figure 3(a): the techniques one by one.

Recipe dgc_figure_3() {
  // The memory has the velocity; the optimiser adds what comes.
  const char* corrected = "sgd:lr=0.02,momentum=0";
  Recipe recipe;
  recipe.plan.name = "dgc-fig3";
  recipe.plan.title = "DGC's four techniques, one by one, at 0.1 %";
  recipe.plan.source =
      "Lin et al., Deep Gradient Compression (ICLR 2018), table 1, fig. 3(a) and table 2: "
      "ResNet-110 on CIFAR-10, 4 workers, momentum SGD, 0.1 % of the gradient sent. Accuracy: "
      "baseline 93.75 %, gradient dropping 92.75 %, DGC 93.87 %.";
  recipe.plan.here =
      "LeNet-5 on drawn digits, 4 workers. Each line adds one technique to the one above it; the "
      "first sparse one loses what it does not send, which the paper does not show.";
  recipe.plan.differences = {small_models_differ()};
  recipe.plan.columns = trained_columns(columns::accuracy());
  CommonTraining common;
  common.words = small_images();
  common.full = {"--steps", "600", "--seeds", "5"};
  common.quick = {"--steps", "60", "--seeds", "1"};
  add_trainings(recipe, common,
                {
                    {"baseline", "93.75 %", "none"},
                    {"nothing kept", "", "topk:ratio=0.001,memory=none"},
                    {"gradient dropping", "92.75 %", "topk:ratio=0.001"},
                    {"+ momentum correction",
                     "",
                     "topk:ratio=0.001,memory=momentum,masking=false",
                     {},
                     corrected},
                    {"+ clipping",
                     "",
                     "topk:ratio=0.001,memory=momentum,masking=false,clip=2,workers=4",
                     {},
                     corrected},
                    {"+ factor masking",
                     "",
                     "topk:ratio=0.001,memory=momentum,clip=2,workers=4",
                     {},
                     corrected},
                    {"+ warm-up: DGC",
                     "93.87 %",
                     "dgc:ratio=0.001,clip=2,workers=4,warmup=0.25/0.0625/0.015625/0.004",
                     {},
                     corrected},
                });
  recipe.plan.expectations = {
      {.says = "DGC learns as well as the baseline",
       .arm = "+ warm-up: DGC",
       .than = "baseline",
       .least = -1},
      {.says = "gradient dropping alone loses quality",
       .arm = "gradient dropping",
       .than = "baseline",
       .most = 0},
      {.says = "DGC is no worse than gradient dropping",
       .arm = "+ warm-up: DGC",
       .than = "gradient dropping",
       .least = 0},
      {.says = "what is not sent must be kept",
       .arm = "nothing kept",
       .than = "gradient dropping",
       .most = -1},
  };
  recipe.full_minutes = 30;
  recipe.quick_seconds = 80;
  return recipe;
}

// Table 2: accuracy with more workers.

Recipe dgc_table_2() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "dgc-table2";
  plan.title = "accuracy with 4 and with 8 workers";
  plan.source =
      "Lin et al., Deep Gradient Compression (ICLR 2018), table 2: ResNet-110 on CIFAR-10, 4 to 32 "
      "workers, 0.1 % of the gradient sent: baseline, Gradient Dropping and DGC.";
  plan.here = "LeNet-5 on drawn digits, 4 and 8 workers, the same mini-batch for each.";
  plan.differences = {
      small_models_differ(),
      "The paper's table goes to 32 workers; on two cores 8 are what can be trained."};
  plan.columns = trained_columns(columns::accuracy());
  struct Papers {
    int workers;
    const char *baseline, *dropping, *dgc;
  };
  // Momentum is DGC's; the optimiser adds what comes.
  const char* corrected = "sgd:lr=0.02,momentum=0";
  for (const Papers& paper :
       {Papers{4, "93.75 %", "92.75 %", "93.87 %"}, Papers{8, "92.92 %", "93.02 %", "93.28 %"}}) {
    const auto label = [&](const char* method) {
      return fmt::format("{} workers, {}", paper.workers, method);
    };
    const CommonTraining common{
        .words = {"-w", std::to_string(paper.workers), "--link", "rate=1gbit", "--compute-time",
                  "0", "-m", "lenet5", "--check-every", "100"},
        .full = {"--steps", "300", "--seeds", "5"},
        .quick = {"--steps", "30", "--seeds", "1"}};
    add_trainings(
        recipe, common,
        {{label("baseline"), paper.baseline, "none"},
         {label("Gradient Dropping"), paper.dropping, "gradientdropping:ratio=0.001"},
         {label("DGC"),
          paper.dgc,
          fmt::format("dgc:ratio=0.001,clip=2,workers={},warmup=0.25/0.0625/0.015625/0.004",
                      paper.workers),
          {},
          corrected}});
    plan.expectations.push_back({.says = label("DGC learns as well as the baseline"),
                                 .arm = label("DGC"),
                                 .than = label("baseline"),
                                 .least = -1});
    plan.expectations.push_back({.says = label("DGC is no worse than Gradient Dropping"),
                                 .arm = label("DGC"),
                                 .than = label("Gradient Dropping"),
                                 .least = 0});
  }
  recipe.full_minutes = 40;
  recipe.quick_seconds = 60;
  return recipe;
}

// Figure 6: speed-up with the number of nodes.

namespace {

constexpr double kSlow = 1e9, kFast = 10e9;

ReproductionPicture speedup_over_nodes(const std::vector<ArmRecords>& arms) {
  ReproductionPicture picture =
      empty_picture("scaling", "Predicted speed-up of AlexNet over one node", "nodes",
                    "speed-up over one node", true);
  const std::vector<double> nodes{4, 8, 16, 32, 64};
  picture.chart.x.ticks = nodes;
  for (const ArmRecords& arm : arms) {
    if (arm.label != "AlexNet" || arm.printed.empty()) continue;
    for (const char* method : {"none", "bf16", "dgc"})
      for (const double rate : {kSlow, kFast}) {
        std::vector<double> speedups;
        for (const double count : nodes) {
          const MeasuredCell cell = columns::predicted_scaling(rate, static_cast<int>(count))
                                        .measure(arm, spelt_out(method));
          speedups.push_back(cell.repetitions.empty() ? 0 : cell.repetitions[0].value);
        }
        add_points(picture,
                   std::string(method) + (rate == kSlow ? " at 1 Gbit/s" : " at 10 Gbit/s"), nodes,
                   speedups);
      }
  }
  return picture;
}

std::vector<std::string> prediction_of(const char* model, const char* ranks, const char* scale) {
  return {"predict",
          "--trace",
          std::string("synthetic:model=") + model + ",workers=1,steps=2",
          "--ranks",
          ranks,
          "--link",
          "rate=1gbit|10gbit,delay=20us",
          "--overlap",
          "bucket",
          "--compute-scale",
          scale,
          "-c",
          "dgc"};
}

}  // namespace

Recipe dgc_figure_6() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "dgc-fig6";
  plan.title = "speed-up with up to 64 nodes";
  plan.source =
      "Lin et al., Deep Gradient Compression (ICLR 2018), fig. 6 and sec. 5, by a performance "
      "model: AlexNet on 64 nodes is about 30 times as fast as on one with 10 Gbit/s Ethernet, and "
      "more than 40 times with DGC on 1 Gbit/s.";
  plan.here =
      "Predictions of thinpipe's models (docs/predict.md) with the codec times of this machine, "
      "exchanges beside the backward pass: as many times as much as one node alone does.";
  plan.differences = {
      "The paper does not print how long its cards compute. AlexNet is given 0.35 s a step, which "
      "its 30 times at 10 Gbit/s leaves: that figure is therefore no test, those with DGC are. "
      "ResNet-50 has the estimate for a V100.",
      "DGC runs on one CPU core here.",
      "The paper aggregates sparse gradients by a tree of all-reduces; here all workers' payloads "
      "go round a ring."};
  plan.rests_on_times = true;
  plan.columns = {columns::named("64 at 1 Gbit/s", columns::predicted_scaling(kSlow, 64)),
                  columns::named("64 at 10 Gbit/s", columns::predicted_scaling(kFast, 64)),
                  columns::named("16 at 1 Gbit/s", columns::predicted_scaling(kSlow, 16)),
                  columns::named("16 at 10 Gbit/s", columns::predicted_scaling(kFast, 16))};
  plan.rows = {{.label = "AlexNet", .arm = "AlexNet", .compressor = "none", .paper = {"", "30x"}},
               {.label = std::string("AlexNet, ") + kSummed16Bits,
                .arm = "AlexNet",
                .compressor = "bf16",
                .paper = {}},
               {.label = "AlexNet, DGC", .arm = "AlexNet", .compressor = "dgc", .paper = {"> 40x"}},
               {.label = "ResNet-50", .arm = "ResNet-50", .compressor = "none", .paper = {}},
               {.label = std::string("ResNet-50, ") + kSummed16Bits,
                .arm = "ResNet-50",
                .compressor = "bf16",
                .paper = {}},
               {.label = "ResNet-50, DGC", .arm = "ResNet-50", .compressor = "dgc", .paper = {}}};
  plan.expectations = {
      {.says = "AlexNet with DGC on 64 nodes is 40 times as fast at 1 Gbit/s",
       .arm = "AlexNet, DGC",
       .least = 40,
       .bounded = Bounded::kValue},
      {.says = "without it about 30 times at 10 Gbit/s",
       .arm = "AlexNet",
       .least = 20,
       .most = 45,
       .bounded = Bounded::kValue,
       .column = "64 at 10 Gbit/s"},
      {.says = "DGC at 1 Gbit/s is faster than plain training at 10",
       .arm = "AlexNet, DGC",
       .than = "AlexNet",
       .least = 1,
       .bounded = Bounded::kRatio,
       .column = "64 at 1 Gbit/s",
       .than_column = "64 at 10 Gbit/s"},
      {.says = "DGC gains more of AlexNet than of ResNet-50 at 1 Gbit/s: it communicates more",
       .arm = "ResNet-50",
       .than = "AlexNet",
       .least = 1,
       .bounded = Bounded::kRatio},
  };
  plan.picture = speedup_over_nodes;
  recipe.needs = {.trusted_times = true, .memory = 3e9};
  recipe.arms = {{.label = "AlexNet",
                  .full = prediction_of("alexnet", "4|8|16|32|64", "10"),
                  .quick = prediction_of("alexnet", "4|8|16|32|64", "10")},
                 {.label = "ResNet-50",
                  .full = prediction_of("resnet50", "4|8|16|32|64", "1"),
                  .quick = prediction_of("resnet50", "16|64", "1")}};
  recipe.full_minutes = 1;
  recipe.quick_seconds = 30;
  return recipe;
}

// Tables 3 and 4: sizes of gradients.

Recipe dgc_table_3() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "dgc-table3";
  plan.title = "how small DGC makes the gradients of four models";
  plan.source =
      "Lin et al., Deep Gradient Compression (ICLR 2018), tables 3 and 4: AlexNet 232.56 MB to "
      "0.39 MB, ResNet-50 97.49 to 0.35, a PTB language model 194.68 to 0.42, LibriSpeech 488.08 "
      "to 0.74, at 0.1 %.";
  plan.here =
      "Random gradients of the same layers' shapes through DGC at 0.1 %, payloads as they are "
      "encoded: 32-bit values and 16-bit runs of zeros.";
  plan.differences = {
      "Sizes go by shapes alone, so that random gradients will do. Accuracies of these models "
      "cannot be had here.",
      "A layer sends at least one element: small layers cost more than 0.1 %.",
      "Of AlexNet the paper sends the last layer uncompressed as 32-bit floats; which other layers "
      "it leaves out it does not say.",
      "The PTB model here has its decoder's weights apart from the encoder's (docs/models.md)."};
  plan.columns = {columns::kept_times_smaller(), columns::kept_bits_per_element()};
  struct Model {
    const char *label, *name;
    double paper;
    bool in_quick;
  };
  for (const Model& model :
       {Model{"AlexNet", "alexnet", 597, true}, Model{"ResNet-50", "resnet50", 277, true},
        Model{"PTB language model", "lstm-ptb", 462, false},
        Model{"LibriSpeech", "deepspeech-gru", 608, false}}) {
    const std::vector<std::string> words{
        "quality", "--trace", fmt::format("synthetic:model={},workers=1,steps=2", model.name),
        "--ranks", "1",       "-c",
        "dgc"};
    recipe.arms.push_back({.label = model.label,
                           .full = words,
                           .quick = model.in_quick ? words : std::vector<std::string>{}});
    plan.rows.push_back({.label = model.label,
                         .arm = model.label,
                         .compressor = "dgc",
                         .paper = {format_times(model.paper), ""}});
    plan.expectations.push_back({.says = fmt::format("{}: as small as in the paper", model.label),
                                 .arm = model.label,
                                 .least = 0.95 * model.paper,
                                 .bounded = Bounded::kValue});
  }
  recipe.needs.memory = 5e9;
  recipe.full_minutes = 1;
  recipe.quick_seconds = 30;
  return recipe;
}

}  // namespace thinpipe
