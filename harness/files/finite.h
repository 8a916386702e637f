// NaN and infinities in gradients: refused, or replaced by 0.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace thinpipe {

/// What to do when a gradient holds a NaN or an infinity.
enum class BadValues {
  kRefuse,
  kZero,  ///< replace them by 0, as a mixed-precision trainer that skips bad values
};

/// `values` where all are finite, else a copy in `repaired` with 0 in place of the others.
/// @param where opens the message.
/// @throws InputError naming the first such element when they are to be refused.
std::span<const float> finite_values(std::span<const float> values, BadValues policy,
                                     const std::string& where, std::vector<float>& repaired);

}  // namespace thinpipe
