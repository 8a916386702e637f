// The tags of what goes to parameter servers and what comes back.
#pragma once

namespace thinpipe {

inline constexpr int kPushTag = 0, kPullTag = 1;

}  // namespace thinpipe
