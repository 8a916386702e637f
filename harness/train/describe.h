// Describes a model by some steps of its training.
#pragma once

#include <string>

namespace thinpipe {

/// Computes some steps of worker 0 alone and prints a ModelDescription as JSON.
/// @param text  LearnerOptions as JSON
/// @param measures  measures times; otherwise takes only a few steps for the parameters' order
/// @returns an exit code
int describe_to_stdout(const std::string& text, bool measures);

}  // namespace thinpipe
