// Whether somebody else measures on this machine at the same time.
#pragma once

#include "netem/file_descriptor.h"

namespace thinpipe {

/// As long as it lives, this process is known to others as one that measures: by a read lock of its
/// own open file (F_OFD_SETLK) on one byte, which nobody writes, of the folder for temporary files.
/// Nothing is made, so nothing is left; the lock ends with the process, however that ends. Those
/// who see another folder (TMPDIR, a container) do not know of each other. Where the folder takes
/// no locks, nobody is seen.
class OtherRuns {
 public:
  OtherRuns();
  /// True when another process has one now. A microsecond: ask often.
  bool any() const;

 private:
  FileDescriptor folder_;
};

}  // namespace thinpipe
