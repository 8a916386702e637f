// One command of a recipe: where its output goes, running it, reading what it left.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/reproduce/recipe.h"

namespace thinpipe {

/// The command's words with the options that say where output goes, which differ by verb.
/// @param place  arm_place()
std::vector<std::string> placed_words(const std::vector<std::string>& words,
                                      const std::string& place);

/// The same as a person would type it in the folder of all records.
std::string command_of(const std::vector<std::string>& words, const std::string& place);

/// Records of a quick try and of the whole would be taken for each other's.
/// @throws InputError when the folder holds those of another command than these words
void refuse_other_command(const std::filesystem::path& folder,
                          const std::vector<std::string>& words);

/// Whether the command ended well before.
bool is_finished(const std::filesystem::path& folder);

/// Runs it in the current folder. What it prints goes to a file `output` in
/// its place, what it says on standard error stays there.
/// @returns "" or what went wrong @throws RunError when stop_requested()
std::string run_arm(const std::vector<std::string>& words, const std::string& place);

/// Whatever the command left, with compressors spelt out in full.
ArmRecords read_arm(const RecipeArm& arm, bool quick, const std::string& place);

/// The compressor with every parameter written out; what is no spec stays.
std::string spelt_out(const std::string& compressor);

}  // namespace thinpipe
