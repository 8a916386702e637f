#include "workloads/trace/import/renames.h"

#include <fnmatch.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

Renames parse_renames(const std::vector<std::string>& texts) {
  Renames renames;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const auto stars = [](const std::string& part) {
      return std::count(part.begin(), part.end(), '*');
    };
    if (equals == std::string::npos || equals == 0) {
      throw InputError(fmt::format("rename '{}': expected OLD=NEW", printable(text)));
    }
    renames.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    const auto& [from, to] = renames.back();
    if (stars(from) > 1 || stars(to) > stars(from)) {
      throw InputError(fmt::format(
          "rename '{}': expected at most one * in OLD, and one in NEW only if OLD has one",
          printable(text)));
    }
  }
  return renames;
}

std::string renamed(const std::string& name, const Renames& renames) {
  for (const auto& [from, to] : renames) {
    const std::size_t star = from.find('*');
    if (star == std::string::npos) {
      if (name == from) return to;
      continue;
    }
    const std::string before = from.substr(0, star), after = from.substr(star + 1);
    if (name.size() < before.size() + after.size() || !name.starts_with(before) ||
        !name.ends_with(after)) {
      continue;
    }
    const std::string middle =
        name.substr(before.size(), name.size() - before.size() - after.size());
    const std::size_t place = to.find('*');
    return place == std::string::npos ? to : std::string(to).replace(place, 1, middle);
  }
  return name;
}

bool is_wanted(const std::string& name, const std::vector<std::string>& globs) {
  return globs.empty() || std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
           return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
         });
}

}  // namespace thinpipe
