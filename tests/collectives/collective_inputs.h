// Collectives that are plans, sparse vectors and framed messages, as tests go through them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/splitmix64.h"
#include "workloads/collectives/sparse_pairs.h"
#include "workloads/collectives/streams.h"

namespace thinpipe {

inline std::vector<std::string> plan_collectives() {
  return {"ring",
          "recursive-doubling",
          "halving-doubling",
          "tree",
          "hierarchical:group=1",
          "hierarchical:group=2",
          "hierarchical:group=3",
          "hierarchical"};
}

/// Collectives with an all-reduce and an all-gather over a transport: those of plans, and `gloo`.
inline std::vector<std::string> transport_collectives() {
  std::vector<std::string> names = plan_collectives();
  names.emplace_back("gloo");
  return names;
}

/// "hierarchical_group_2_5" for 5 ranks.
inline std::string plan_collective_name(
    const ::testing::TestParamInfo<std::tuple<std::string, int>>& info) {
  std::string name = std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == ':' || c == '='; }, '_');
  return name;
}

/// Returns the message that Streams::receive_framed() expects: the content's length, then the
/// content.
inline std::vector<std::byte> framed(const std::vector<std::byte>& content) {
  const std::uint64_t length = content.size();
  std::vector<std::byte> message(kStreamLengthBytes);
  std::memcpy(message.data(), &length, kStreamLengthBytes);
  message.insert(message.end(), content.begin(), content.end());
  return message;
}

/// Elements of the vectors of most tests.
inline constexpr std::size_t kDimension = 20000;

struct SparseInput {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
  SparseView view() const { return {indices, values}; }
};

/// Returns a sparse vector with about `count` of `dimension` elements. With `ties` it has few
/// distinct values, so that many magnitudes are equal and sums cancel. `skew` > 1 draws only the
/// lowest indices, the first 1/`skew` of all.
inline SparseInput sparse_input(std::size_t dimension, std::size_t count, std::uint64_t seed,
                                bool ties = false, double skew = 1) {
  SplitMix64 random(seed);
  SparseInput input;
  for (std::size_t i = 0; i < dimension; ++i) {
    const double place = static_cast<double>(i) / static_cast<double>(dimension);
    const double density = skew * static_cast<double>(count) / static_cast<double>(dimension);
    const bool there = place * skew <= 1 && static_cast<double>(random.below(1 << 20)) <
                                                density * static_cast<double>(1 << 20);
    if (!there) continue;
    const auto number =
        static_cast<float>(static_cast<int>(random.below(ties ? 7 : 100001)) - (ties ? 3 : 50000));
    input.indices.push_back(static_cast<std::uint32_t>(i));
    input.values.push_back(number / 64);
  }
  return input;
}

inline std::vector<float> dense(SparseView view, std::size_t dimension) {
  std::vector<float> vector(dimension, 0.0F);
  for (std::size_t i = 0; i < view.size(); ++i) vector[view.indices[i]] = view.values[i];
  return vector;
}

inline std::vector<std::span<const float>> spans(const std::vector<std::vector<float>>& vectors) {
  return {vectors.begin(), vectors.end()};
}

}  // namespace thinpipe
