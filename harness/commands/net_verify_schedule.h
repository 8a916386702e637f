// `thinpipe net verify --schedule`: does a link that changes deliver what its schedule says?
#pragma once

#include "harness/options/verb.h"

namespace thinpipe {

/// Every link under every schedule, each way. Exit code as of net verify.
/// @throws InputError when a schedule does not fit a link.
Action prepare_schedules(const Arguments& arguments);

}  // namespace thinpipe
