// Performs a recipe: runs its commands, reads their records, checks the rules, writes the page.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/reproduce/recipe.h"

namespace thinpipe {

/// Returns the words of an arm's command with its output options, which differ by verb.
/// @param place  arm_place()
std::vector<std::string> placed_words(const std::vector<std::string>& words,
                                      const std::string& place);

/// Returns the command as a user would type it in the folder of all records.
std::string command_of(const std::vector<std::string>& words, const std::string& place);

/// Checks that the folder has no records of another command, such as those of a quick try.
/// @throws InputError when the folder has such records
void refuse_other_command(const std::filesystem::path& folder,
                          const std::vector<std::string>& words);

/// Runs the recipe's arms that are not finished yet, one after the other, and reports progress on
/// standard error. An arm that fails does not end the others; the page reports it. Writes
/// OUT/NAME.md, its picture, and OUT/README.md, the list of all recipes.
/// @throws InputError when an arm's folder has the records of another command; RunError when
/// stop_requested()
Reproduction perform(const Recipe& recipe, const std::filesystem::path& out, bool quick);

/// Performs several recipes, one after the other, and calls `done` after each. A recipe that fails
/// is reported on standard error and does not end the others.
/// @returns the exit code: kExitFailed if a command failed, kExitUsage if a recipe was refused
int perform_all(const std::vector<std::string>& names, const std::filesystem::path& out, bool quick,
                const std::function<void(const Reproduction&)>& done);

}  // namespace thinpipe
