#include "harness/bench/options.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace thinpipe {

const char* to_string(Residency residency) {
  return residency == Residency::kMemory ? "memory" : "cache";
}

std::size_t parse_elements(const std::string& text) {
  constexpr double kLargest = 1e9;  // 4 GB a buffer, and positions fit 32 bits
  for (const auto& [suffix, factor] :
       {std::pair{"", 1.0}, std::pair{"k", 1e3}, std::pair{"m", 1e6}, std::pair{"g", 1e9}}) {
    const auto value = parse_number_with<double>(suffix, text, 0, kLargest / factor);
    const double elements = value.value_or(0) * factor;
    if (elements >= 1 && elements == std::floor(elements))
      return static_cast<std::size_t>(elements);
  }
  throw InputError(in_quotes(text) +
                   " is not a number of elements from 1 to 1g (such as 26m, 260k, 65537)");
}

}  // namespace thinpipe
