// Lists of words inside a sentence.
#include "reports/text/lists.h"

namespace thinpipe {

std::string joined(const std::vector<std::string>& parts, const std::string& separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : separator) + parts[i];
  return text;
}

std::string listed(std::vector<std::string> names) {
  constexpr std::size_t kMostNames = 5;
  if (names.size() > kMostNames) {
    const std::size_t rest = names.size() - kMostNames + 1;
    names.resize(kMostNames - 1);
    names.push_back(std::to_string(rest) + " others");
  }
  if (names.size() < 2) return joined(names, "");
  const std::string last = names.back();
  names.pop_back();
  return joined(names, ", ") + " and " + last;
}

}  // namespace thinpipe
