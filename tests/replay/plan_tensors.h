// Tensors of a plan, by their sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"

namespace thinpipe {

/// "t0", "t1", ..., of which the last is ready first.
inline std::vector<TraceTensor> tensors_of(const std::vector<std::size_t>& sizes) {
  std::vector<TraceTensor> tensors;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    tensors.push_back({"t" + std::to_string(i),
                       {static_cast<std::int64_t>(sizes[i])},
                       sizes[i],
                       sizes.size() - 1 - i});
  return tensors;
}

}  // namespace thinpipe
