// Comparing what two traces hold.
#pragma once

#include <algorithm>

#include <gtest/gtest.h>

#include "workloads/trace/trace.h"

namespace thinpipe {

/// Every tensor, by name, in both: gradients and second moments of the same ranks and steps.
inline void expect_same_values(const Trace& a, const Trace& b) {
  ASSERT_EQ(a.ranks(), b.ranks());
  ASSERT_EQ(a.steps(), b.steps());
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (std::size_t step = 0; step < a.steps(); ++step) {
    EXPECT_EQ(a.training_step(step), b.training_step(step));
    for (std::size_t rank = 0; rank < a.ranks(); ++rank) {
      for (std::size_t i = 0; i < a.tensors().size(); ++i) {
        std::size_t j = 0;
        while (j < b.tensors().size() && b.tensors()[j].name != a.tensors()[i].name) ++j;
        ASSERT_LT(j, b.tensors().size()) << a.tensors()[i].name;
        EXPECT_EQ(a.tensors()[i].shape, b.tensors()[j].shape);
        const auto x = a.gradient(rank, step, i), y = b.gradient(rank, step, j);
        EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end()));
        const auto p = a.squares(rank, step, i), q = b.squares(rank, step, j);
        EXPECT_TRUE(std::equal(p.begin(), p.end(), q.begin(), q.end()));
      }
    }
  }
}

/// The folder's files, to see that nothing was left.
inline std::size_t files_below(const std::filesystem::path& folder) {
  std::size_t files = 0;
  if (!std::filesystem::exists(folder)) return 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  return files;
}

}  // namespace thinpipe
