// `-c, --compressor SPEC`, for every verb that takes compressors.
#pragma once

#include <vector>

#include "compressors/spec.h"
#include "harness/options/arguments.h"
#include "harness/options/option.h"

namespace thinpipe {

/// The option, required.
OptionInfo compressor_option(bool repeatable);
/// Its value; alternatives (`|`) are refused. @throws InputError
Spec one_compressor(const Arguments& arguments);
/// `first` and then all values with their alternatives, each once. @throws InputError
std::vector<Spec> all_compressors(const Arguments& arguments, std::vector<Spec> first = {});

}  // namespace thinpipe
