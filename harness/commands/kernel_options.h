// `--threads N` and `--simd TARGET`, for every verb that encodes or decodes.
#pragma once

#include <string>

#include "harness/options/arguments.h"
#include "harness/options/option.h"

namespace thinpipe {

/// More than any machine has that this is for; keeps a slip of the finger from starting thousands.
constexpr int kMostThreads = 256;

/// @param who  has so many: "one encode", "each rank's encode"
OptionInfo threads_option(const std::string& who);
/// The option's value, 1 to kMostThreads.
int threads_of(const Arguments& arguments);

OptionInfo simd_option();
/// From now on this process's kernels use what `--simd` says.
/// @returns its name, which "best" is not (simd.h)
/// @throws InputError for what this CPU does not have, with what it has.
std::string use_simd(const Arguments& arguments);

}  // namespace thinpipe
