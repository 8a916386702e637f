// Carries a recipe out: every arm is a `thinpipe train` of its own, which goes on where it was.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/reproduce/recipe.h"

namespace thinpipe {

/// The arguments of an arm's `thinpipe train`, but for --out and --resume.
std::vector<std::string> arm_words(const Recipe& recipe, const RecipeArm& arm, bool quick);

/// Where an arm's records are: `OUT/NAME/label`, the label as plain_file_name() has it.
std::filesystem::path arm_folder(const std::filesystem::path& out, const Recipe& recipe,
                                 const RecipeArm& arm);

/// Trains all arms, one after the other, those that are not finished yet, and judges. Each says on
/// standard error how far it is.
/// @param out  for records, and the page NAME.md
/// @throws InputError when an arm's folder holds the records of another length; RunError when an
/// arm left none, or when stop_requested()
Reproduction carry_out(const Recipe& recipe, const std::filesystem::path& out, bool quick);

}  // namespace thinpipe
