#include "harness/bench/options.h"

#include <charconv>
#include <cmath>

#include "base/error.h"

namespace thinpipe {

const char* to_string(Residency residency) {
  return residency == Residency::kMemory ? "memory" : "cache";
}

std::size_t parse_elements(const std::string& text) {
  constexpr double kLargest = 1e9;  // 4 GB a buffer, and positions fit 32 bits
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const std::string suffix(rest, end);
  const double factor = suffix == "k" ? 1e3 : suffix == "m" ? 1e6 : suffix == "g" ? 1e9 : 1;
  const double elements = value * factor;
  if (error != std::errc() || (factor == 1 && !suffix.empty()) || !(elements >= 1) ||
      elements > kLargest || elements != std::floor(elements)) {
    throw InputError("'" + text +
                     "' is not a number of elements from 1 to 1g (such as 26m, 260k, 65537)");
  }
  return static_cast<std::size_t>(elements);
}

}  // namespace thinpipe
