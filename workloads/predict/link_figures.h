// A network as the cost models see it: alpha, beta, and what its token buckets have saved up.
#pragma once

#include <algorithm>

namespace thinpipe {

/// Times of one message: alpha + bytes * beta (Hockney 1994), less what idle links let through at
/// once. All ranks are alike; where they are not, these are the figures of the ranks that decide.
struct LinkFigures {
  double alpha = 0;   ///< s from a rank to another for a message without bytes: delay, and machines
  double beta = 0;    ///< s for each byte of payload, while the pattern's other messages cross too
  double credit = 0;  ///< bytes of payload that cross for free after a link has idled (its bucket)

  /// s that a link is busy with so many bytes after it has idled.
  double seconds(double bytes) const { return std::max(0.0, bytes - credit) * beta; }
};

}  // namespace thinpipe
