// The capabilities without which no network can be emulated.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

/// Those of CAP_NET_ADMIN and CAP_SYS_ADMIN that are not effective in the calling thread.
std::vector<std::string> missing_rights();

/// For the end of an error's text: which of them are missing, what for, and what to do; "" when
/// none is. Only in a sandbox, or for root: an ordinary user gets them in a user namespace.
std::string rights_advice();

}  // namespace thinpipe
