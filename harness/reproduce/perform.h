// Carries a recipe out: runs its commands, reads what they left, judges, writes the page.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/reproduce/recipe.h"

namespace thinpipe {

/// The words of an arm's command with the options that say where output goes, which differ by verb.
/// @param place  arm_place()
std::vector<std::string> placed_words(const std::vector<std::string>& words,
                                      const std::string& place);

/// The same as a person would type it in the folder of all records.
std::string command_of(const std::vector<std::string>& words, const std::string& place);

/// Records of a quick try and of the whole would be taken for each other's.
/// @throws InputError when the folder holds those of another command than these words
void refuse_other_command(const std::filesystem::path& folder,
                          const std::vector<std::string>& words);

/// Runs the recipe's arms, one after the other, those that are not finished yet; each says on
/// standard error how far it is. One that fails does not end the others: the page says so. Writes
/// OUT/NAME.md, its picture, and OUT/README.md, the list of all.
/// @throws InputError when an arm's folder holds the records of another length; RunError when
/// stop_requested()
Reproduction perform(const Recipe& recipe, const std::filesystem::path& out, bool quick);

/// Several, one after the other; `done` is told of each. One that cannot be carried out is named
/// on standard error and does not end the others.
/// @returns the exit code: kExitFailed if a command failed, kExitUsage if a recipe was refused
int perform_all(const std::vector<std::string>& names, const std::filesystem::path& out, bool quick,
                const std::function<void(const Reproduction&)>& done);

}  // namespace thinpipe
