// The drawing as text: a tree of switches and hosts, then the TCP ceilings. The drawing as SVG:
// switches inside, hosts on a circle around them.
#include "netem/topology/drawing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numbers>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "base/escape.h"
#include "base/plain_table.h"
#include "base/units.h"
#include "netem/topology/flows.h"

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

// The SVG.

// The layout, in pixels of the drawing's own coordinates.
constexpr double kSlot = 74;         // arc of the circle per host
constexpr double kStarRadius = 150;  // minimum radius of hosts around a single switch
constexpr double kRadius = 235;      // minimum radius of hosts around several switches
constexpr double kInner = 0.5;       // radius of the switches' circle over the hosts'
constexpr double kWidestStep = 0.5;  // rad between hosts of one of several switches
constexpr double kCircle = 2 * std::numbers::pi;
constexpr double kTop = -std::numbers::pi / 2;

Spot on_circle(double radius, double angle) {
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

Layout place_star(const Topology& topology) {
  Layout layout;
  layout.switches.resize(1);
  const double hosts = static_cast<double>(topology.hosts.size());
  const double radius = std::max(kStarRadius, hosts * kSlot / kCircle);
  for (int i = 0; i < static_cast<int>(hosts); ++i)
    layout.hosts.push_back(on_circle(radius, kTop + i * kCircle / hosts));
  return layout;
}

// Places the hosts of every switch on an arc of the circle. The arc is as wide as these hosts plus
// half a host's width on each side. The first arc is at the top or, with two arcs, at the left.
void place_on_circle(const Topology& topology, const std::vector<int>& with_hosts, Layout& layout) {
  const double slots = static_cast<double>(topology.hosts.size() + with_hosts.size());
  const double slot = kCircle / slots, step = std::min(slot, kWidestStep);
  const double radius = std::max(kRadius, slots * kSlot / kCircle);
  double angle = with_hosts.size() == 2 ? std::numbers::pi : kTop;
  angle -= (topology.hosts_at(with_hosts[0]) + 1) * slot / 2;
  for (const int index : with_hosts) {
    const int count = topology.hosts_at(index);
    const double middle = angle + (count + 1) * slot / 2;
    layout.switches[as_index(index)] = on_circle(radius * kInner, middle);
    double placed = 0;
    for (std::size_t i = 0; i < topology.hosts.size(); ++i)
      if (topology.hosts[i].at == index)
        layout.hosts[i] = on_circle(radius, middle + (placed++ - (count - 1) / 2.0) * step);
    angle += (count + 1) * slot;
  }
}

Spot amid_neighbours(const Topology& topology, int index, const Layout& layout) {
  Spot sum;
  double neighbours = 0;
  for (const Trunk& trunk : topology.trunks) {
    if (trunk.a != index && trunk.b != index) continue;
    const Spot& other = layout.switches[as_index(trunk.other(index))];
    sum = {sum.x + other.x, sum.y + other.y};
    ++neighbours;
  }
  return neighbours == 0 ? sum : Spot{sum.x / neighbours, sum.y / neighbours};
}

void part_overlapping(std::vector<Spot>& spots) {
  for (std::size_t i = 0; i < spots.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (std::hypot(spots[i].x - spots[j].x, spots[i].y - spots[j].y) < kSwitchHeight)
        spots[i].y += 1.6 * kSwitchHeight;
}

// The picture, likewise in pixels.
constexpr double kHostWidth = 62, kHostHeight = 24;
constexpr double kMargin = 24, kTitleHeight = 46, kLegendRow = 22;
constexpr double kLetter = 7.2;  // mean width of a letter at 13 px
constexpr std::size_t kLongestTitle = 100;
constexpr std::size_t kMaxLabels = 15;  // most trunks that are labelled
constexpr int kColours = 7;

double switch_width(const std::string& name) {
  return std::max(46.0, static_cast<double>(name.size()) * kLetter + 20);
}

// Returns 1.5 px at 1 Mbit/s and below, and 1 px more for every factor of ten.
double thickness(const LinkSpec& link) {
  const double rate = std::max(rate_of(link, true), rate_of(link, false));
  return rate == 0 ? 1.5 : 1.5 + std::clamp(std::log10(rate / 1e6), 0.0, 5.0);
}

std::string style_of(const LinkSpec& link, int link_class) {
  return fmt::format("class=\"l c{}\" stroke-width=\"{:.1f}\"{}", link_class % kColours,
                     thickness(link), link.throttled() ? "" : " stroke-dasharray=\"2 4\"");
}

std::string line(const Spot& a, const Spot& b, const std::string& style, const std::string& title) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}><title>{}</title></line>\n",
      a.x, a.y, b.x, b.y, style, escape_html(title));
}

std::string box(const Spot& at, double width, double height, const char* style,
                const std::string& text) {
  return fmt::format(
      "<g class=\"{}\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "rx=\"6\"/><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n",
      style, at.x - width / 2, at.y - height / 2, width, height, at.x, at.y + 4.5,
      escape_html(text));
}

std::string host_box(const Spot& at, const TopologyHost& host) {
  if (host.role.empty()) return box(at, kHostWidth, kHostHeight, "h", host.name);
  return box(at, kHostWidth * 1.7, kHostHeight, "v", host.name + " " + host.role);
}

constexpr const char* kStyle = R"(<style>
:root{--page:#fff;--ink:#1b1f24;--soft:#57606a;--box:#f7f8fa;--edge:#949ba4;--mark:#fbe3cf;
--c0:#57606a;--c1:#0072b2;--c2:#d55e00;--c3:#00875f;--c4:#b0578f;--c5:#c58700;--c6:#7a2048}
@media(prefers-color-scheme:dark){:root{--page:#14171b;--ink:#e6e9ed;--soft:#a2abb5;--box:#1c2025;
--edge:#79818b;--mark:#4a3222;--c0:#a2abb5;--c1:#4aa8e8;--c2:#ff8a3d;--c3:#2fc596;--c4:#e08bc0;
--c5:#f0b840;--c6:#e0708f}}
.page{fill:var(--page)}
text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;fill:var(--ink)}
.h text,.v text,.w text,.t{text-anchor:middle}
.h rect,.v rect{fill:var(--box);stroke:var(--edge)}
.v rect{fill:var(--mark)}
.w rect{fill:var(--ink)}
.w text{fill:var(--page);font-weight:600}
.t{font-size:12px;stroke:var(--page);stroke-width:4px;paint-order:stroke}
.b{font-weight:600}
.s{fill:var(--soft)}
.l{stroke-linecap:round}
.c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}.c3{stroke:var(--c3)}
.c4{stroke:var(--c4)}.c5{stroke:var(--c5)}.c6{stroke:var(--c6)}
</style>
)";

// The statements of a file are too long for a title.
std::string title_of(const Topology& topology) {
  return topology.text.size() <= kLongestTitle
             ? topology.text
             : fmt::format("{} hosts, {} switches, {} links", topology.hosts.size(),
                           topology.switches.size(), topology.links());
}

std::string links_of(const Topology& topology, const Layout& layout, const LinkClasses& classes) {
  std::string svg, labels;
  for (int i = 0; i < topology.links(); ++i) {
    const std::size_t index = as_index(i);
    const bool trunk = topology.is_trunk(i);
    const Spot& a = trunk ? layout.switches[as_index(topology.trunk_of(i).a)] : layout.hosts[index];
    const Spot& b =
        layout.switches[as_index(trunk ? topology.trunk_of(i).b : topology.hosts[index].at)];
    const std::string words = link_in_words(topology.link(i));
    svg += line(a, b, style_of(topology.link(i), classes.class_of[index]),
                topology.link_name(i) + ": " + words);
    // Off the middle, where the links of a mesh cross.
    constexpr double kAlong = 0.42;
    if (trunk && topology.trunks.size() <= kMaxLabels)
      labels += fmt::format("<text class=\"t\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                            a.x + kAlong * (b.x - a.x), a.y + kAlong * (b.y - a.y) + 4,
                            escape_html(words.substr(0, words.find(','))));
  }
  return svg + labels;
}

std::string legend(const LinkClasses& classes, double left, double top) {
  std::string svg;
  const auto counted = [](int count, const char* what) {
    return count == 0 ? "" : fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  for (std::size_t i = 0; i < classes.classes.size(); ++i) {
    const LinkClass& one = classes.classes[i];
    const double y = top + kLegendRow * static_cast<double>(i);
    svg += line({left, y - 4}, {left + 30, y - 4}, style_of(one.link, static_cast<int>(i)),
                link_in_words(one.link));
    const char* joint = one.hosts > 0 && one.trunks > 0 ? ", " : "";
    svg +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{} <tspan class=\"s\">{}{}{}</tspan></text>\n",
                    left + 40, y, escape_html(link_in_words(one.link)), counted(one.hosts, "host"),
                    joint, counted(one.trunks, "switch link"));
  }
  return svg;
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

Layout lay_out(const Topology& topology) {
  if (topology.switches.size() == 1) return place_star(topology);
  Layout layout;
  layout.hosts.resize(topology.hosts.size());
  layout.switches.resize(topology.switches.size());
  std::vector<int> with_hosts, without;
  for (int i = 0; i < static_cast<int>(topology.switches.size()); ++i)
    (topology.hosts_at(i) > 0 ? with_hosts : without).push_back(i);
  if (!with_hosts.empty()) place_on_circle(topology, with_hosts, layout);
  constexpr int kRounds = 30;  // for neighbours that have no hosts either, positions converge
  for (int round = 0; round < kRounds; ++round)
    for (const int index : without)
      layout.switches[as_index(index)] = amid_neighbours(topology, index, layout);
  part_overlapping(layout.switches);
  return layout;
}

std::string draw_as_svg(const Topology& topology) {
  const Layout layout = lay_out(topology);
  const LinkClasses classes = link_classes(topology);
  double left = 0, right = 0, top = 0, bottom = 0;
  const auto cover = [&](const Spot& spot, double width, double height) {
    left = std::min(left, spot.x - width / 2);
    right = std::max(right, spot.x + width / 2);
    top = std::min(top, spot.y - height / 2);
    bottom = std::max(bottom, spot.y + height / 2);
  };
  for (const Spot& spot : layout.hosts) cover(spot, kHostWidth, kHostHeight);
  for (std::size_t i = 0; i < layout.switches.size(); ++i)
    cover(layout.switches[i], switch_width(topology.switches[i]), kSwitchHeight);
  const std::string title = title_of(topology);
  std::size_t letters = title.size();
  for (const LinkClass& one : classes.classes)
    letters = std::max(letters, link_in_words(one.link).size() + 36);
  const double wanted = std::min(static_cast<double>(letters) * kLetter, 900.0);
  if (right - left < wanted) {
    const double more = (wanted - (right - left)) / 2;
    left -= more;
    right += more;
  }
  left -= kMargin;
  top -= kMargin + kTitleHeight;
  const double width = right + kMargin - left, legend_top = bottom + 2 * kMargin;
  const double height = legend_top + kLegendRow * static_cast<double>(classes.classes.size()) - top;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"{2:.1f} {3:.1f} {0:.0f} {1:.0f}\" role=\"img\">\n<title>{4}</title>\n",
      width, height, left, top, escape_html(topology.text));
  svg += kStyle;
  svg += fmt::format(
      "<rect class=\"page\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"{:.0f}\"/>\n", left,
      top, width, height);
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"b\">{}</text>\n", left + kMargin,
                     top + kMargin + 4, escape_html(title));
  svg += links_of(topology, layout, classes);
  for (std::size_t i = 0; i < topology.switches.size(); ++i)
    svg += box(layout.switches[i], switch_width(topology.switches[i]), kSwitchHeight, "w",
               topology.switches[i]);
  for (std::size_t i = 0; i < topology.hosts.size(); ++i)
    svg += host_box(layout.hosts[i], topology.hosts[i]);
  svg += legend(classes, left + kMargin, legend_top);
  return svg + "</svg>\n";
}

}  // namespace thinpipe
