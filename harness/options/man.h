// The manual page, made from the tables of the verbs.
#pragma once

#include <string>
#include <vector>

#include "harness/options/verb.h"

namespace thinpipe {

/// thinpipe(1) in man(7) macros: `thinpipe --man | man -l -`.
std::string man_page(const Verb& command, const std::vector<Verb>& verbs,
                     const std::string& version);

}  // namespace thinpipe
