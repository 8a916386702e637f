// Passes in place that leave less than they found, on several threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "compressors/kernels/compact.h"
#include "compressors/kernels/parallel.h"

namespace thinpipe {

/// The stretches of a pass that each leave fewer elements at their beginning than they had: one a
/// thread. No kernel may store a vector past the end of what it read.
class Stretches {
 public:
  explicit Stretches(std::size_t n)
      : n_(n), parts_(static_cast<std::size_t>(std::min(threads_for(n), kMaxCompactThreads))) {}

  /// kept = body(begin, size) for each.
  template <class Body>
  void run(Body body) {
    parallel_parts(parts_, static_cast<int>(parts_), [&](std::size_t part) {
      kept_[part] = body(begin(part), begin(part + 1) - begin(part));
    });
  }
  /// Moves what they left together. @returns how many.
  template <class T>
  std::size_t join(T* data) const {
    std::size_t count = kept_[0];
    for (std::size_t part = 1; part < parts_; ++part) {
      copy_bytes(data + count, data + begin(part), kept_[part] * sizeof(T));
      count += kept_[part];
    }
    return count;
  }

 private:
  std::size_t begin(std::size_t part) const { return n_ * part / parts_; }

  std::size_t n_, parts_;
  std::array<std::size_t, kMaxCompactThreads> kept_{};
};

}  // namespace thinpipe
