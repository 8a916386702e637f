// Completion of the command line in a shell, made from the tables of the verbs.
#pragma once

#include <string>
#include <vector>

#include "harness/options/verb.h"

namespace thinpipe {

/// A script for bash: `source <(thinpipe --completion bash)`. Needs nothing but bash itself.
std::string bash_completion(const Verb& command, const std::vector<Verb>& verbs);

}  // namespace thinpipe
