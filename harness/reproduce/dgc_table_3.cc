// Lin et al., Deep Gradient Compression, tables 3 and 4: sizes of gradients.
#include <fmt/format.h>

#include "harness/reproduce/catalogue.h"

namespace thinpipe {

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
