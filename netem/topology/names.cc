// The links of a topology by their names.
#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "netem/topology/topology.h"

namespace thinpipe {

namespace {

struct HostRange {
  int first = 0, last = 0;
};

// `host3` or `host4-7`; nothing for any other name.
std::optional<HostRange> host_range(std::string_view name) {
  constexpr std::string_view kHost = "host";
  if (!name.starts_with(kHost)) return std::nullopt;
  name.remove_prefix(kHost.size());
  const std::size_t dash = std::min(name.find('-'), name.size());
  const auto first = parse_number<int>(name.substr(0, dash), 0);
  const auto last = dash == name.size() ? first : parse_number<int>(name.substr(dash + 1), 0);
  if (!first || !last) return std::nullopt;
  return HostRange{*first, *last};
}

std::vector<int> from_to(int first, int last) {
  std::vector<int> indices(static_cast<std::size_t>(std::max(0, last - first + 1)));
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

}  // namespace

std::vector<int> Topology::links_named(const std::string& name) const {
  const int last = static_cast<int>(hosts.size()) - 1;
  if (const auto range = host_range(name)) {
    if (range->first > range->last || range->last > last)
      throw InputError(fmt::format("{}: the hosts are host0 to host{}", name, last));
    return from_to(range->first, range->last);
  }
  if (name == "hosts") return from_to(0, last);
  if (name == "trunks" && !trunks.empty()) return from_to(last + 1, links() - 1);
  std::vector<std::string> known;
  for (int i = last + 1; i < links(); ++i) {
    known.push_back(link_name(i));
    // A rack has one uplink, so its name will do.
    if (name == known.back() || name + "-spine" == known.back()) return {i};
  }
  constexpr std::size_t kFew = 6;
  const std::string more = known.size() > kFew ? ", ..." : "";
  const std::string hint = did_you_mean(name, known);
  known.resize(std::min(known.size(), kFew));
  throw InputError(fmt::format("{} is no link of it; links: host0 to host{}{}{}{}{}",
                               in_quotes(name), last, known.empty() ? "" : ", ",
                               fmt::join(known, ", "), more, hint));
}

}  // namespace thinpipe
