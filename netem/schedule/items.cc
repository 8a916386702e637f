#include "netem/schedule/items.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.h"

namespace thinpipe {

ScheduleItems::ScheduleItems(std::string where, std::string_view part)
    : where_(std::move(where)), part_(part) {
  const std::size_t colon = part_.find(':');
  kind_ = part_.substr(0, colon);
  if (colon == std::string::npos) return;  // a kind without anything: its keys will be missing
  std::set<std::string> seen;
  for (const std::string& item : split(std::string_view(part_).substr(colon + 1), ',')) {
    const std::size_t equals = item.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == item.size())
      fail(fmt::format("expected key=value, found {}", in_quotes(item)));
    if (!seen.insert(item.substr(0, equals)).second)
      fail(fmt::format("{} is given twice", item.substr(0, equals)));
    items_.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
}

std::optional<std::string> ScheduleItems::find(const std::string& key) {
  const auto found = std::find_if(items_.begin(), items_.end(),
                                  [&](const auto& item) { return item.first == key; });
  if (found == items_.end()) return std::nullopt;
  std::string value = std::move(found->second);
  items_.erase(found);
  return value;
}

std::string ScheduleItems::take(const std::string& key) {
  std::optional<std::string> value = find(key);
  if (!value) fail(fmt::format("{}= is missing", key));
  return *std::move(value);
}

std::vector<std::pair<std::string, std::string>> ScheduleItems::take_points() {
  const auto is_point = [](const auto& item) {
    return item.first[0] >= '0' && item.first[0] <= '9';
  };
  std::vector<std::pair<std::string, std::string>> points;
  std::copy_if(items_.begin(), items_.end(), std::back_inserter(points), is_point);
  std::erase_if(items_, is_point);
  return points;
}

void ScheduleItems::finish(const std::vector<std::string>& known) const {
  if (items_.empty()) return;
  fail(fmt::format("unknown key {} (known: {}){}", in_quotes(items_[0].first),
                   fmt::join(known, ", "), did_you_mean(items_[0].first, known)));
}

void ScheduleItems::fail(const std::string& what) const {
  throw InputError(fmt::format("{} {}: {}", where_, in_quotes(part_), what));
}

void ScheduleItems::fail_key(const std::string& key, const std::string& text,
                             const std::string& what) const {
  fail(fmt::format("{}={}: {}", key, text, what));
}

}  // namespace thinpipe
