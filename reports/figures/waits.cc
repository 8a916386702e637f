// Whom steps waited for.
#include <algorithm>
#include <map>

#include "reports/figures/bars.h"
#include "reports/figures/build.h"
#include "reports/figures/style.h"
#include "reports/text/critical_path.h"
#include "reports/text/units.h"

namespace thinpipe::figures {
namespace {

using WaitsByHost = std::map<int, double>;  // shares of the step

// Mean over the repeats.
WaitsByHost waits_of(const Cell& cell) {
  WaitsByHost mean;
  for (const Point* point : cell.used)
    for (const auto& [host, share] : waited_by_host(point->critical_path))
      mean[host] += share / static_cast<double>(cell.used.size());
  return mean;
}

// More would have no room in a legend: those that were waited for longest.
std::vector<int> drawn_hosts(const Group& group) {
  constexpr std::size_t kMostHosts = 8;
  WaitsByHost total;
  for (const Series& series : group.series)
    for (const Cell& cell : series.cells)
      for (const auto& [host, share] : waits_of(cell)) total[host] += share;
  std::vector<int> hosts;
  for (const auto& [host, share] : total) hosts.push_back(host);
  std::stable_sort(hosts.begin(), hosts.end(), [&](int a, int b) { return total[a] > total[b]; });
  if (hosts.size() > kMostHosts) hosts.resize(kMostHosts);
  std::sort(hosts.begin(), hosts.end());
  return hosts;
}

Bar wait_bar(const Series& series, const Cell& cell, const std::vector<int>& hosts) {
  const WaitsByHost waits = waits_of(cell);
  Bar bar{series.label, "", cell.status == Status::kOk, {}};
  double sum = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto found = waits.find(hosts[i]);
    const double share = found == waits.end() ? 0 : found->second;
    sum += share;
    bar.parts.push_back({.length = share,
                         .tooltip = cell_title(series, cell) + "\nwaited for host " +
                                    std::to_string(hosts[i]) + ": " + format_percent(share) +
                                    " of the step",
                         .ink = part_ink(i % kParts),
                         .name = "host " + std::to_string(hosts[i]),
                         .letter = std::to_string(hosts[i])});
  }
  bar.total = format_percent(sum);
  return bar;
}

}  // namespace

Figure waits(const Group& group, const std::string& id) {
  Figure figure{id + "-waits", "Whom the ranks waited for", "", {}, {}};
  figure.caption =
      "How long the median other rank stood in exchanges until a host came, as a share of the step "
      "and for what its compute or codec took it longer: the number in a bar is the host's. With "
      "nothing but equal hosts these are small. Bars in outline did not pass their checks.";
  const std::vector<int> hosts = drawn_hosts(group);
  for (std::size_t i = 0; i < hosts.size(); ++i)
    figure.legend.push_back(
        {part_swatch(i % kParts, std::to_string(hosts[i])), "host " + std::to_string(hosts[i])});
  for (const double rate : panel_rates(group)) {
    BarChart chart;
    chart.id = figure.id + "-" + std::to_string(figure.panels.size());
    chart.alt = "Share of a step spent waiting for other hosts at " + format_rate(rate) + ", " +
                group.title;
    chart.label = "waited / step";
    chart.format = format_percent;
    for (const Series& series : group.series)
      if (const Cell* cell = series.at(rate); cell != nullptr && !cell->used.empty())
        chart.bars.push_back(wait_bar(series, *cell, hosts));
    add_panel(figure, format_rate(rate), chart);
  }
  return figure;
}

}  // namespace thinpipe::figures
