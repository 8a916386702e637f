// Recipes from Abdelmoniem et al., SIDCo (2021), on gradients: how fast they are compressed, how
// well thresholds are estimated, how they are distributed.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/reproduce/parts.h"
#include "harness/reproduce/recipe.h"
#include "reports/reproduction/judge.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {

// What the figures of compression speed have in common.

namespace {

// At each ratio: SIDCo is faster than Top-k and than DGC; DGC is slower than Top-k.
std::vector<Expectation> sidco_speed_expectations(const std::string& column) {
  std::vector<Expectation> rules;
  for (const char* ratio : kSidcoRatios) {
    const auto row = [ratio](const char* method) { return std::string(method) + " " + ratio; };
    const Expectation rule{.says = "", .arm = "", .bounded = Bounded::kValue, .column = column};
    rules.push_back(rule);
    rules.back().says = "SIDCo is faster than Top-k, " + std::string(ratio);
    rules.back().arm = row("SIDCo-E");
    rules.back().least = 1;
    rules.push_back(rule);
    rules.back().says = "and faster than DGC";
    rules.back().arm = row("SIDCo-E");
    rules.back().than = row("DGC");
    rules.back().bounded = Bounded::kRatio;
    rules.back().least = 1;
    rules.push_back(rule);
    rules.back().says = "DGC is slower than Top-k";
    rules.back().arm = row("DGC");
    rules.back().most = 1;
  }
  return rules;
}

std::vector<std::string> bench_differences() {
  return {
      "The paper timed PyTorch's operators (Top-k by sorting, DGC by random sampling on a CPU); "
      "here all are C++ with vector instructions, and Top-k is one pass over the values: what the "
      "paper found slow need not be slow here.",
      "What the paper timed on a GPU (fig. 1(a), fig. 16(a) to (d)) is left out: the compressors "
      "for GPUs have not run on one yet (docs/gpu.md)."};
}

}  // namespace

// Figure 1: compression speed-up over Top-k and estimation quality.

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
                  columns::of_arm("quality", columns::kept("quality"_metric))};
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
                                   .column = columns::kept("quality"_metric).name});
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

// Figure 16 (e) to (h): synthetic tensors of four sizes on a CPU.

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

// Figure 9: k-hat over k through a training.

namespace {

// Of the first worker at 0.001, where methods differ most.
ReproductionPicture kept_over_steps(const std::vector<ArmRecords>& arms) {
  constexpr std::size_t kWindow = 20;
  ReproductionPicture picture =
      empty_picture("kept", "Running mean of k-hat over k at ratio 0.001, by step", "step",
                    "k-hat over k, running mean of 20 steps", false);
  picture.chart.y.is_log = true;
  picture.chart.reference_lines = {1};
  for (const ArmRecords& arm : arms)
    for (const Point& point : arm.records.points) {
      if (!point.id.ends_with("|*") || spec_value(point.axes.compressor, "ratio", "") != "0.001")
        continue;
      const auto ranks = point.at->value("rank", std::vector<double>());
      const std::vector<double> kept = point.samples("quality"_metric);
      std::vector<double> first;
      for (std::size_t i = 0; i < std::min(kept.size(), ranks.size()); ++i)
        if (ranks[i] == 0) first.push_back(std::max(kept[i], 1e-4));
      add_line(picture, point.axes.method + spec_value(point.axes.compressor, "dist", " "),
               running_mean(first, kWindow));
    }
  return picture;
}

}  // namespace

Recipe sidco_figure_9() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "sidco-fig9";
  plan.title = "how many elements are sent against how many were asked";
  plan.source =
      "Abdelmoniem et al., SIDCo (2021), fig. 9 and app. E.1: k-hat over k through trainings at "
      "0.1, 0.01 and 0.001. SIDCo and DGC stay near 1 (SIDCo-GP at most 2); RedSync and GaussianK "
      "are off by up to 60 times, and swing.";
  plan.here =
      "Captured gradients of a ResNet-20, replayed with error feedback through each compressor, a "
      "value a worker: the mean over steps of k-hat over k, and by what factor a step was off.";
  plan.differences = {
      "Recorded steps come again and again, so that the adaptation has time; a training's change "
      "slowly.",
      "The network is small: layers of 16 elements have a k of 1, where one more is off by twice. "
      "All layers are counted together."};
  plan.columns = {columns::kept("quality"_metric), columns::off_by()};
  add_sidco_rows(recipe, "quality", "memory=residual", true);
  for (const char* ratio : kSidcoRatios) {
    const auto row = [ratio](const char* method) { return std::string(method) + " " + ratio; };
    for (const char* method : {"DGC", "SIDCo-E", "SIDCo-GP", "SIDCo-P"})
      plan.expectations.push_back({.says = row(method) + " meets k on average",
                                   .arm = row(method),
                                   .least = 0.8,
                                   .most = std::string(method) == "SIDCo-GP" ? 2 : 1.2,
                                   .bounded = Bounded::kValue});
    for (const char* method : {"RedSync", "GaussianK"})
      plan.expectations.push_back({.says = row(method) + " is farther off than SIDCo-E",
                                   .arm = row(method),
                                   .than = row("SIDCo-E"),
                                   .least = 1.2,
                                   .bounded = Bounded::kRatio,
                                   .column = "off by"});
  }
  plan.picture = kept_over_steps;
  recipe.needs = {.training = true, .disk = 100e6};
  const auto quality = [&](const char* steps) {
    std::vector<std::string> words{"quality", "--trace", captured_trace(plan.name), "--steps",
                                   steps};
    const std::vector<std::string> compressors = sidco_compressors("memory=residual", true);
    words.insert(words.end(), compressors.begin(), compressors.end());
    return words;
  };
  recipe.arms = {
      capture_resnet20({"-w", "4", "--record", "20"}, {"-w", "2", "--record", "4", "--every", "3"}),
      {.label = "quality", .full = quality("600"), .quick = quality("100")}};
  recipe.full_minutes = 8;
  recipe.quick_seconds = 60;
  return recipe;
}

// Figure 2: distributions fitted to gradients.

namespace {

// Fig. 2(d): distribution functions of magnitudes late in the training.
ReproductionPicture distribution_functions(const std::vector<ArmRecords>& arms) {
  ReproductionPicture picture = empty_picture(
      "fits", "Distribution of magnitudes late in the training, and what was fitted to it",
      "magnitude over the gradient's norm", "share that is smaller", false);
  picture.chart.x.is_log = true;
  for (const ArmRecords& arm : arms) {
    if (arm.label != "late" || !arm.stats) continue;
    for (const StatsGradient& gradient : arm.stats->gradients) {
      if (gradient.tensor != "*" || gradient.feedback || !gradient.points) continue;
      add_points(picture, "measured", gradient.points->x, gradient.points->empirical);
      for (std::size_t i = 0; i < kFitNames.size(); ++i)
        add_points(picture, kFitNames[i], gradient.points->x, gradient.points->fitted[i]);
      return picture;
    }
  }
  return picture;
}

}  // namespace

Recipe sidco_figure_2() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "sidco-fig2";
  plan.title = "which distribution gradients have";
  plan.source =
      "Abdelmoniem et al., SIDCo (2021), fig. 2: ResNet-20 on CIFAR-10, iterations 100 and 10000. "
      "Double exponential, gamma and generalised Pareto distributions, fitted to the gradient "
      "without error feedback, approximate it over most of its domain.";
  plan.here =
      "Captured gradients of a ResNet-20 on drawn images, steps early and late in the training: "
      "Kolmogorov-Smirnov distances of SIDCo's fits and of a normal distribution.";
  plan.differences = {
      "The training is short and its images are simple; the paper shows curves and gives no "
      "distances.",
      "All layers are taken as one vector, as in the paper; each alone fits better (thinpipe trace "
      "stats shows them)."};
  for (std::size_t i = 0; i < kFitNames.size(); ++i)
    plan.columns.push_back(columns::fit_distance(i));
  plan.rows = {{.label = "early", .arm = "early", .compressor = "", .paper = {}},
               {.label = "late", .arm = "late", .compressor = "", .paper = {}}};
  for (const char* row : {"early", "late"}) {
    for (const char* fit : {"exponential", "gamma", "gpareto"})
      plan.expectations.push_back({.says = std::string(fit) + " fits better than normal, " + row,
                                   .arm = row,
                                   .than = row,
                                   .most = 0,
                                   .column = fit,
                                   .than_column = "normal"});
    plan.expectations.push_back({.says = std::string("gamma is within 0.1 everywhere, ") + row,
                                 .arm = row,
                                 .most = 0.1,
                                 .bounded = Bounded::kValue,
                                 .column = "gamma"});
  }
  plan.picture = distribution_functions;
  recipe.needs.training = true;
  const auto stats = [&](const char* steps) { return stats_of_capture(plan.name, steps); };
  recipe.arms = {capture_whole_training(),
                 {.label = "early", .full = stats("5,15,25"), .quick = stats("8,11,14")},
                 {.label = "late", .full = stats("215,225,235"), .quick = stats("53,56,59")}};
  recipe.full_minutes = 1;
  recipe.quick_seconds = 40;
  return recipe;
}

// Figure 7: gradients are compressible.

namespace {

// Fig. 7(a): sorted magnitudes.
ReproductionPicture sorted_magnitudes(const std::vector<ArmRecords>& arms) {
  ReproductionPicture picture =
      empty_picture("decay", "Sorted magnitudes of gradients against their place", "place",
                    "magnitude over the gradient's norm", true);
  for (const ArmRecords& arm : arms) {
    if (!arm.stats) continue;
    for (const StatsGradient& gradient : arm.stats->gradients) {
      if (gradient.tensor != "*" || gradient.feedback || !gradient.points) continue;
      add_points(picture, arm.label, gradient.points->places, gradient.points->magnitudes);
      break;
    }
  }
  return picture;
}

}  // namespace

Recipe sidco_figure_7() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "sidco-fig7";
  plan.title = "how fast sorted gradients decay";
  plan.source =
      "Abdelmoniem et al., SIDCo (2021), fig. 7 and app. B.1: ResNet-20 on CIFAR-10, three "
      "iterations. Sorted magnitudes decay by a power law with p > 0.7, more than the 0.5 that "
      "makes a vector compressible; the error of the best k decays with p - 0.5 > 0.2.";
  plan.here =
      "Captured gradients of a ResNet-20 on drawn images at the beginning, in the middle and at "
      "the end: the exponent by least squares over the same share of places (37 %).";
  plan.differences = {"The training is short and its images are simple.",
                      "The paper draws a line at p = 0.7 and fits none."};
  plan.columns = {columns::decay_exponent(), columns::best_k_error(0, "error of the best 10 %"),
                  columns::best_k_error(1, "error of the best 1 %")};
  for (const char* when : {"beginning", "middle", "end"}) {
    plan.rows.push_back({.label = when, .arm = when, .compressor = "", .paper = {"> 0.7"}});
    plan.expectations.push_back({.says = std::string("compressible: p is more than 0.5, ") + when,
                                 .arm = when,
                                 .least = 0.5,
                                 .bounded = Bounded::kValue});
    plan.expectations.push_back({.says = std::string("p is more than 0.7, ") + when,
                                 .arm = when,
                                 .least = 0.7,
                                 .bounded = Bounded::kValue});
  }
  plan.picture = sorted_magnitudes;
  recipe.needs.training = true;
  const auto stats = [&](const char* steps) { return stats_of_capture(plan.name, steps); };
  recipe.arms = {capture_whole_training(),
                 {.label = "beginning", .full = stats("5,15,25"), .quick = stats("8,11,14")},
                 {.label = "middle", .full = stats("115,125,135"), .quick = stats("32,35,38")},
                 {.label = "end", .full = stats("215,225,235"), .quick = stats("53,56,59")}};
  recipe.full_minutes = 1;
  recipe.quick_seconds = 40;
  return recipe;
}

}  // namespace thinpipe
