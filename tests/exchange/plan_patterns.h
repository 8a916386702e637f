// The patterns that are plans, as tests go through them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace thinpipe {

inline std::vector<std::string> plan_patterns() {
  return {"ring",
          "recursive-doubling",
          "halving-doubling",
          "tree",
          "hierarchical:group=1",
          "hierarchical:group=2",
          "hierarchical:group=3",
          "hierarchical"};
}

/// "hierarchical_group_2_5" for 5 ranks.
inline std::string plan_pattern_name(
    const ::testing::TestParamInfo<std::tuple<std::string, int>>& info) {
  std::string name = std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == ':' || c == '='; }, '_');
  return name;
}

}  // namespace thinpipe
