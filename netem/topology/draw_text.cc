// The drawing as text: a tree of switches and hosts, then the TCP ceilings.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/plain_table.h"
#include "base/units.h"
#include "netem/topology/drawing.h"
#include "netem/topology/flows.h"
#include "netem/topology/topology.h"

namespace thinpipe {

namespace {

constexpr int kMaxSingleHosts = 8;             // per switch; more are drawn as runs
constexpr int kMaxForAllPairs = 64;            // hosts; 4032 flows
constexpr std::size_t kMaxWidth = 44;          // of the tree before the links' column
constexpr std::size_t kBottleneckColumn = 39;  // of the table of pairs

std::string padded(const std::string& text, std::size_t columns) {
  return text + std::string(columns - std::min(columns, text_columns(text)), ' ');
}

struct LinkLine {
  std::string left, right;
};

class Tree {
 public:
  explicit Tree(const Topology& topology) : topology_(topology), whole_(is_tree(topology)) {}

  std::string draw() {
    if (whole_) {
      grow(central_switch(topology_), -1, "", "");
    } else {
      for (int i = 0; i < static_cast<int>(topology_.switches.size()); ++i) grow(i, -1, "", "");
    }
    std::size_t column = 0;
    for (const LinkLine& line : lines_) column = std::max(column, text_columns(line.left));
    column = std::min(column, kMaxWidth) + 2;
    std::string text;
    for (const LinkLine& line : lines_)
      text +=
          folded(line.right.empty() ? line.left : padded(line.left, column) + line.right, column);
    if (!whole_) text += "\n" + between();
    return text;
  }

 private:
  // Adds the lines of the switch, of its hosts and, in a tree, of the switches behind it. `stem` is
  // the prefix of the switch's line. `indent` is the prefix of the lines below.
  void grow(int index, int from_trunk, const std::string& stem, const std::string& indent) {
    const std::string& name = topology_.switches[as_index(index)];
    lines_.push_back({"  " + stem + name, from_trunk < 0 ? "" : uplink(index, from_trunk)});
    const std::vector<HostRun> runs = host_runs(topology_, index, kMaxSingleHosts);
    std::vector<int> trunks;
    for (int i = 0; whole_ && i < static_cast<int>(topology_.trunks.size()); ++i) {
      const Trunk& trunk = topology_.trunks[as_index(i)];
      if (i != from_trunk && (trunk.a == index || trunk.b == index)) trunks.push_back(i);
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const bool last = i + 1 == runs.size() && trunks.empty();
      const LinkSpec& link = topology_.hosts[as_index(runs[i].first)].link;
      const std::string each =
          runs[i].count() > 1 ? fmt::format("{} × ", runs[i].count()) : std::string();
      lines_.push_back({"  " + indent + (last ? "└── " : "├── ") + run_name(topology_, runs[i]),
                        each + link_in_words(link)});
    }
    for (std::size_t i = 0; i < trunks.size(); ++i) {
      const bool last = i + 1 == trunks.size();
      const Trunk& trunk = topology_.trunks[as_index(trunks[i])];
      grow(trunk.other(index), trunks[i], indent + (last ? "╚══ " : "╠══ "),
           indent + (last ? "    " : "║   "));
    }
  }

  // Returns the link to the switch above and its oversubscription, if any.
  std::string uplink(int index, int trunk) const {
    const auto& [a, b, link] = topology_.trunks[as_index(trunk)];
    std::string text = link_in_words(link);
    double below = 0;
    for (const TopologyHost& host : topology_.hosts)
      if (host.at == index) below += rate_of(host.link, true);
    const double above = rate_of(link, a == index);
    if (above > 0 && below > above * 1.005)
      text += fmt::format("  oversubscribed {:.3g}:1", below / above);
    return text;
  }

  std::string between() const {
    std::size_t longest = 0;
    for (const std::string& name : topology_.switches)
      longest = std::max(longest, text_columns(name));
    std::string text;
    for (const Trunk& trunk : topology_.trunks)
      text += folded("  " + padded(topology_.switches[as_index(trunk.a)], longest) + " ═══ " +
                         padded(topology_.switches[as_index(trunk.b)], longest) + "  " +
                         link_in_words(trunk.link),
                     2 * longest + 9);
    return text;
  }

  const Topology& topology_;
  bool whole_;
  std::vector<LinkLine> lines_;
};

std::string counted(std::size_t count, const char* what, const char* plural) {
  return fmt::format("{} {}", count, count == 1 ? what : plural);
}

std::string rate_in_words(double goodput) {
  return goodput > 0 ? format_rate(goodput) : "unthrottled";
}

// Paths with equal RTT, goodput and kind of bottleneck link.
struct PathClass {
  int pairs = 0;
  int narrowest = -1;
  bool one_link = true;
};

std::string narrowest_in_words(const Topology& topology, const PathClass& paths) {
  if (paths.narrowest < 0) return "none";
  if (paths.one_link) return topology.link_name(paths.narrowest);
  return topology.is_trunk(paths.narrowest) ? "links between switches" : "access links";
}

std::string pairs_table(const Topology& topology, const Routes& routes) {
  const LinkClasses links = link_classes(topology);
  std::map<std::tuple<double, double, bool, int>, PathClass> classes;  // fastest first
  const int hosts = static_cast<int>(topology.hosts.size());
  for (int from = 0; from < hosts; ++from)
    for (int to = 0; to < hosts; ++to) {
      if (from == to) continue;
      const PathFigures forward = figures_of(topology, routes.path(from, to));
      const PathFigures reverse = figures_of(topology, routes.path(to, from));
      const bool trunk = forward.narrowest >= 0 && topology.is_trunk(forward.narrowest);
      const int link_class =
          forward.narrowest < 0 ? -1 : links.class_of[as_index(forward.narrowest)];
      const double rank =
          forward.narrowest < 0 ? -std::numeric_limits<double>::infinity() : -forward.goodput;
      PathClass& paths = classes[{forward.delay + reverse.delay, rank, trunk, link_class}];
      paths.one_link = paths.pairs == 0 || (paths.one_link && paths.narrowest == forward.narrowest);
      paths.narrowest = forward.narrowest;
      ++paths.pairs;
    }
  std::string text = "From one host to another, without other traffic\n";
  text += "   pairs   TCP ceiling    round trip   bottleneck\n";
  for (const auto& [key, paths] : classes) {
    const auto& [round_trip, rank, trunk, link_class] = key;
    text += folded(fmt::format("  {:>6}   {:<12}   {:<10}   {}", paths.pairs,
                               rate_in_words(paths.narrowest < 0 ? 0 : -rank),
                               round_trip > 0 ? format_time(round_trip) : "-",
                               narrowest_in_words(topology, paths)),
                   kBottleneckColumn, " -");  // a link's name has a - between its switches
  }
  return text;
}

double least_of(const Topology& topology, const std::vector<std::vector<Hop>>& flows) {
  double least = 0;
  for (const double goodput : fair_goodputs(topology, flows))
    if (goodput > 0 && (least == 0 || goodput < least)) least = goodput;
  return least;
}

std::string together(const Topology& topology, const Routes& routes) {
  const int hosts = static_cast<int>(topology.hosts.size());
  std::vector<std::vector<Hop>> ring, all;
  for (int from = 0; from < hosts; ++from) {
    ring.push_back(routes.path(from, (from + 1) % hosts));
    for (int to = 0; hosts <= kMaxForAllPairs && to < hosts; ++to)
      if (to != from) all.push_back(routes.path(from, to));
  }
  std::string text = "All hosts at once (max-min fair): TCP ceiling of the slowest flow\n";
  text += fmt::format("  {:<12}   ring: each host to the next\n",
                      rate_in_words(least_of(topology, ring)));
  if (!all.empty())
    text += fmt::format("  {:<12}   all-to-all: each host to every other\n",
                        rate_in_words(least_of(topology, all)));
  return text;
}

}  // namespace

std::string link_in_words(const LinkSpec& link) {
  constexpr std::string_view kRate = "rate=";
  std::string text = link.to_string();
  if (text.starts_with(kRate)) text.erase(0, kRate.size());
  std::string words;
  for (const char c : text) words += c == ',' ? ", " : c == '=' ? " " : std::string(1, c);
  return words;
}

std::string draw_as_text(const Topology& topology) {
  std::string text = folded(topology.text, 2);
  text += fmt::format("{}, {}, {}\n\n", counted(topology.hosts.size(), "host", "hosts"),
                      counted(topology.switches.size(), "switch", "switches"),
                      counted(static_cast<std::size_t>(topology.links()), "link", "links"));
  text += Tree(topology).draw();
  if (topology.hosts.size() < 2) return text;
  const Routes routes(topology);
  return text + "\n" + pairs_table(topology, routes) + "\n" + together(topology, routes);
}

}  // namespace thinpipe
