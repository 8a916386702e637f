// The sum of a selection's values, in an order that a GPU's threads can keep as well.
#pragma once

#include <cstddef>

namespace thinpipe {

/// Values of a block.
constexpr std::size_t kValueBlock = 32768;
/// Sums that a block's values are dealt out to, one after the other; these to kValueParts in turn.
constexpr std::size_t kValueLanes = 512;
/// Parts of all blocks with a sum of their own.
constexpr std::size_t kValueParts = 64;

namespace value_sum {

inline double total(const double (&sums)[kValueParts]) {
  double sum = 0;
  for (double part : sums) sum += part;
  return sum;
}

template <class Value>
double of_block(std::size_t begin, std::size_t end, Value value) {
  double lanes[kValueLanes] = {};
  for (std::size_t i = begin; i < end; ++i) lanes[(i - begin) % kValueLanes] += value(i);
  double sums[kValueParts] = {};
  for (std::size_t i = 0; i < kValueLanes; ++i) sums[i % kValueParts] += lanes[i];
  return total(sums);
}

}  // namespace value_sum

/// The sum of value(i) over [0, n), in double.
template <class Value>
double sum_of_values(std::size_t n, Value value) {
  const std::size_t blocks = (n + kValueBlock - 1) / kValueBlock;
  double sums[kValueParts] = {};
  for (std::size_t part = 0; part < kValueParts; ++part) {
    for (std::size_t i = blocks * part / kValueParts; i < blocks * (part + 1) / kValueParts; ++i) {
      const std::size_t end = n - i * kValueBlock < kValueBlock ? n : (i + 1) * kValueBlock;
      sums[part] += value_sum::of_block(i * kValueBlock, end, value);
    }
  }
  return value_sum::total(sums);
}

}  // namespace thinpipe
