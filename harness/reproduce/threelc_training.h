// The training that 3LC's traffic is measured on.
#pragma once

#include <string>
#include <vector>

#include "harness/reproduce/recipe.h"

namespace thinpipe {

/// ResNet-20 with a parameter server, cosine decay and augmentation, as in 3LC's section 5.2; the
/// arm is called "training". @param compressors  with `-c`
RecipeArm threelc_training(const std::vector<std::string>& compressors);

/// One of those that the paper's table 1 compares.
struct ThreelcDesign {
  const char *label, *spec;
  const char* accuracy;  ///< the paper's, after all of its steps
};

/// All eleven, in its order; the baseline first.
const std::vector<ThreelcDesign>& threelc_designs();

/// What it differs in from the paper's.
std::vector<std::string> threelc_differences();

}  // namespace thinpipe
