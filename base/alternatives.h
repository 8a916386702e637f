// How many alternatives a text may stand for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace thinpipe {

/// Enough for a week of points of two minutes each.
inline constexpr std::size_t kMaxAlternatives = 5000;

/// Alternatives in several places of one text multiply: twelve times `a|b|c` are half a million.
/// Called before `found` of them are multiplied by `more`.
/// @throws InputError when the product is above kMaxAlternatives.
inline void check_alternatives(std::string_view text, std::size_t found, std::size_t more) {
  if (more == 0 || found <= kMaxAlternatives / more) return;
  throw InputError(in_quotes(text) + ": its alternatives ('|') stand for more than " +
                   std::to_string(kMaxAlternatives) + "; give fewer at a time");
}

}  // namespace thinpipe
