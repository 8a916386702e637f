// `thinpipe net verify --topology`: every distinct link of a network, measured.
#pragma once

#include "harness/options/arguments.h"

namespace thinpipe {

/// For a topology other than a plain star, or a number of hosts. Exit code as of net verify.
int verify_network(const Arguments& arguments);

}  // namespace thinpipe
