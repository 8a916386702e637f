#include "harness/options/alternatives.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace thinpipe {

std::vector<std::string> alternatives(const std::vector<std::string>& texts) {
  std::vector<std::string> values;
  for (const std::string& text : texts) {
    for (const std::string& value : split(text, '|')) {
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
  }
  return values;
}

std::vector<int> count_alternatives(const std::vector<std::string>& texts,
                                    const std::string& option, const std::string& of, int most) {
  std::vector<int> counts;
  for (const std::string& text : alternatives(texts)) {
    const auto count = parse_number<int>(text, 1, most);
    if (!count) {
      throw InputError(fmt::format("--{}: {} is not a number of {} from 1 to {}", option,
                                   in_quotes(text), of, most));
    }
    // 2 and 02 are the same.
    if (std::find(counts.begin(), counts.end(), *count) == counts.end()) counts.push_back(*count);
  }
  return counts;
}

}  // namespace thinpipe
