// Zero-run encoding: bytes of five zeros are what a sparse tensor mostly has.
#include "compressors/encode/zero_run.h"

#include <algorithm>

#include "compressors/kernels/ternary.h"

namespace thinpipe {

std::size_t zero_run_encode(const std::uint8_t* packed, std::size_t count, std::uint8_t* out) {
  std::size_t written = 0;
  std::size_t i = 0;
  while (i < count) {
    if (packed[i] != kQuarticZero) {
      out[written++] = packed[i++];
      continue;
    }
    const std::size_t end = std::min(count, i + kLongestRun);
    std::size_t run = 1;
    while (i + run < end && packed[i + run] == kQuarticZero) ++run;
    out[written++] = run == 1 ? kQuarticZero : static_cast<std::uint8_t>(kFirstRunByte + (run - 2));
    i += run;
  }
  return written;
}

}  // namespace thinpipe
