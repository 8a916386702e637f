// Which sources were built.
#pragma once

namespace thinpipe {

/// The commit, as `git describe --always --dirty` named it when this was built: "-dirty" at its end
/// where files differed from it; "" outside a repository.
const char* git_revision();

}  // namespace thinpipe
