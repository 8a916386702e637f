#include "harness/reproduce/parts.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/error.h"
#include "compressors/registry.h"
#include "compressors/spec.h"

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

// Quality does not depend on links: fast ones, and no waiting for compute times.
std::vector<std::string> four_workers(std::vector<std::string> model) {
  model.insert(model.begin(), {"-w", "4", "--link", "rate=1gbit", "--compute-time", "0"});
  model.insert(model.end(), {"--check-every", "100"});
  return model;
}

std::vector<std::string> train_words(const CommonTraining& common, const TrainedArm& arm,
                                     bool quick) {
  std::vector<std::string> words{"train"};
  for (const auto* more : {&common.words, quick ? &common.quick : &common.full, &arm.words})
    words.insert(words.end(), more->begin(), more->end());
  const std::string& optimiser = arm.optimiser.empty() ? common.optimiser : arm.optimiser;
  words.insert(words.end(), {"--optimiser", optimiser, "-c", arm.compressor, "--no-baseline"});
  return words;
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

void add_trainings(Recipe& recipe, const CommonTraining& common,
                   const std::vector<TrainedArm>& trainings) {
  recipe.needs.training = true;
  for (const TrainedArm& arm : trainings) {
    recipe.arms.push_back({.label = arm.label,
                           .full = train_words(common, arm, false),
                           .quick = train_words(common, arm, true)});
    recipe.plan.rows.push_back({.label = arm.label,
                                .arm = arm.label,
                                .compressor = "",
                                .paper = {arm.paper, "", arm.paper_times}});
  }
}

std::vector<std::string> small_images() { return four_workers({"-m", "lenet5"}); }

std::vector<std::string> small_text() { return four_workers({"-m", "charlstm", "--clip", "1"}); }

std::vector<ReproductionColumn> trained_columns(ReproductionColumn quality) {
  return {std::move(quality), columns::bytes(), columns::times_smaller()};
}

std::string small_models_differ() {
  return "Models and data are small, and trainings short, so that they end within an hour on two "
         "cores: absolute figures say nothing about the paper's, differences between designs do.";
}

std::string two_workers_differ(const std::string& paper) {
  return "Two workers, the paper has " + paper +
         ": times are believed where every worker has a core of its own, and this is to run on "
         "two.";
}

ReproductionPicture empty_picture(const std::string& id, const std::string& alt,
                                  const std::string& x, const std::string& y, bool log) {
  ReproductionPicture picture;
  picture.chart.id = id;
  picture.chart.alt = alt;
  picture.chart.width = 640;
  picture.chart.x = {x, log, format_plain, {}, {}};
  picture.chart.y = {y, log, format_plain, {}, {}};
  return picture;
}

void add_points(ReproductionPicture& picture, const std::string& name, const std::vector<double>& x,
                const std::vector<double>& y) {
  constexpr std::size_t kMostMarkers = 40;
  Curve curve{.style = picture.chart.curves.size() + 1,
              .has_markers = x.size() <= kMostMarkers,
              .points = {},
              .name = name};
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    curve.points.push_back({x[i], y[i], std::nullopt, true, name});
  if (curve.points.empty()) return;
  picture.chart.curves.push_back(std::move(curve));
  picture.names.push_back(name);
}

void add_line(ReproductionPicture& picture, const std::string& name,
              const std::vector<double>& values) {
  constexpr std::size_t kMostPoints = 200;
  const std::size_t stride = std::max<std::size_t>(1, values.size() / kMostPoints);
  std::vector<double> x, y;
  for (std::size_t i = 0; i < values.size(); i += stride) {
    x.push_back(static_cast<double>(i + 1));
    y.push_back(values[i]);
  }
  add_points(picture, name, x, y);
}

std::string spelt_out(const std::string& compressor) {
  try {
    const Spec spec = parse_spec(compressor);
    return Parameters(find_method(spec.name).parameters, spec).text();
  } catch (const InputError&) {  // rules by tensors' names, a plug-in's
    return compressor;
  }
}

std::string spec_value(const std::string& spec, const std::string& key, const std::string& before) {
  try {
    const Spec parsed = parse_spec(spec);
    const auto found = parsed.values.find(key);
    return found == parsed.values.end() ? "" : before + found->second;
  } catch (const InputError&) {
    return "";
  }
}

}  // namespace thinpipe
