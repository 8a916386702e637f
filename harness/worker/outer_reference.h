// What an outer optimiser's update must be, computed beside it.
#pragma once

#include <span>
#include <vector>

#include "workloads/exchange/outer_optimiser.h"

namespace thinpipe {

/// Follows an outer optimiser from aggregate to aggregate, by another way and in double:
///   v_t = m v_(t-1) + x_t,  update = rate x_t + rate m v_t.
class OuterReference {
 public:
  explicit OuterReference(const OuterOptions& options) : options_(options) {}

  /// After every exchange that the optimiser has seen since the first one given here, with which it
  /// begins: that one's v is taken as it is. @param velocity  the optimiser's, after it
  void follow(std::span<const float> aggregate, std::span<const float> velocity);

  /// max |update - what it must be| / max |what it must be|, of the last one; NaN where it is that.
  /// 0 before the first.
  double error_of(std::span<const float> update) const;

 private:
  OuterOptions options_;
  std::vector<double> velocity_, expected_;
};

}  // namespace thinpipe
