#include "harness/reproduce/threelc_training.h"

namespace thinpipe {

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

std::vector<std::string> threelc_differences() {
  return {
      "A ResNet-20 on drawn images for 300 steps, 4 workers; the paper trained a ResNet-110 on "
      "CIFAR-10 for 25,600 steps, 10 workers. Gradients of a longer training are sparser to 3LC.",
      "The server answers with the compressed mean gradient, not with a model delta: momentum is "
      "the workers' (docs/patterns.md).",
      "All layers are compressed; the paper leaves those of batch normalisation out, which are 1 % "
      "of this model: as 32-bit floats they alone would take 0.28 bits an element."};
}

}  // namespace thinpipe
