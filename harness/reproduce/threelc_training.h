// The training that 3LC's traffic is measured on.
#pragma once

#include <string>
#include <vector>

#include "harness/reproduce/recipe.h"

namespace thinpipe {

/// ResNet-20 with a parameter server, cosine decay and augmentation, as in 3LC's section 5.2; the
/// arm is called "training". @param compressors  with `-c`
RecipeArm threelc_training(const std::vector<std::string>& compressors);

/// What it differs in from the paper's.
std::vector<std::string> threelc_differences();

}  // namespace thinpipe
