// `thinpipe net verify --topology`: every distinct link of a network, measured.
#pragma once

#include "harness/options/verb.h"

namespace thinpipe {

/// For a topology other than a plain star, or a number of hosts. Exit code as of net verify.
Action prepare_network(const Arguments& arguments);

}  // namespace thinpipe
