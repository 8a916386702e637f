// Figures of where a step's time goes: its breakdown, waits by host, and timelines.
#include <algorithm>
#include <array>
#include <map>

#include "reports/figures/style.h"
#include "reports/run/figures.h"
#include "reports/text/phrases.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

struct Part {
  const char* name;
  const MetricType* metric;  // null: the rest of the step
  const char* letter;
};

constexpr std::array<Part, kParts> kPartTable = {{{"compute", &"compute_time"_metric, "c"},
                                                  {"compress", &"compress_time"_metric, "z"},
                                                  {"exchange", &"exchange_time"_metric, "x"},
                                                  {"decode", &"decode_time"_metric, "d"},
                                                  {"other", nullptr, "o"}}};

// Returns the drawn length of one part of a step. `rest` is the time of the step that the earlier
// parts leave. Overlapped work does not make a step longer. Only the exposed time of an
// overlapped exchange counts, and no overlapped part is longer than `rest`.
double part_length(const Series& series, const Cell& cell, const MetricType* metric, double rest) {
  if (metric == nullptr) return rest;
  const bool hides = series.is_overlapped();
  const bool exposed = hides && metric == &"exchange_time"_metric;
  const double length =
      std::max(0.0, cell.mean_of_metric(exposed ? "exposed_time"_metric : *metric).value_or(0));
  return hides ? std::min(length, rest) : length;
}

// Uses means: the means of parts add up to the mean of the step; medians would not.
Bar make_bar(const Series& series, const Cell& cell) {
  const double step = cell.mean_of_metric("step_time"_metric).value_or(0);
  Bar bar{series.label, format_time(step), cell.status == Status::kOk, {}};
  double sum = 0;
  for (const Part& part : kPartTable) {
    const double rest = std::max(0.0, step - sum);
    const double length = part_length(series, cell, part.metric, rest);
    sum += length;
    bar.parts.push_back({length,
                         cell_title(series, cell) + "\n" + part.name + ": " + format_time(length) +
                             " (" + format_percent(step > 0 ? length / step : 0) + " of the step)",
                         std::nullopt, false, part.name, part.letter});
  }
  return bar;
}

using WaitsByHost = std::map<int, double>;  // fractions of the step

// Returns the mean over the repeats.
WaitsByHost waits_of(const Cell& cell) {
  WaitsByHost mean;
  for (const Point* point : cell.used)
    for (const auto& [host, share] : waited_by_host(point->critical_path))
      mean[host] += share / static_cast<double>(cell.used.size());
  return mean;
}

constexpr std::size_t kMaxHosts = 8;  // as many as fit the legend

// Returns the hosts that ranks waited for longest.
std::vector<int> drawn_hosts(const Group& group) {
  WaitsByHost total;
  for (const Series& series : group.series)
    for (const Cell& cell : series.cells)
      for (const auto& [host, share] : waits_of(cell)) total[host] += share;
  std::vector<int> hosts;
  for (const auto& [host, share] : total) hosts.push_back(host);
  std::stable_sort(hosts.begin(), hosts.end(), [&](int a, int b) { return total[a] > total[b]; });
  if (hosts.size() > kMaxHosts) hosts.resize(kMaxHosts);
  std::sort(hosts.begin(), hosts.end());
  return hosts;
}

Bar wait_bar(const Series& series, const Cell& cell, const std::vector<int>& hosts) {
  const WaitsByHost waits = waits_of(cell);
  Bar bar{series.label, "", cell.status == Status::kOk, {}};
  double sum = 0;  // of all hosts, drawn or not
  for (const auto& [host, share] : waits) sum += share;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto found = waits.find(hosts[i]);
    const double share = found == waits.end() ? 0 : found->second;
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

// The parts of a step but for "other" are the phases of a timeline.
constexpr std::size_t kPhases = kParts - 1;

// Returns the index of the phase in kPartTable; kPhases for another one.
std::size_t place_of(const std::string& phase) {
  std::size_t place = 0;
  while (place < kPhases && phase != kPartTable[place].name) ++place;
  return place;
}

double end_of(const RankTimeline& timeline) {
  double end = 0;
  for (const PhaseOfStep& phase : timeline) end = std::max(end, phase.end);
  return end;
}

// Returns the phases of a step as parts of one bar, one after the other, with gaps between them. If
// a phase begins inside another phase, as hooks do inside the backward pass, the later phase is
// drawn.
std::vector<BarPart> laid_out(std::vector<PhaseOfStep> phases) {
  std::ranges::sort(phases, {}, &PhaseOfStep::begin);
  std::vector<BarPart> parts;
  double at = 0;
  const auto lay = [&](double end, const PhaseOfStep* phase) {
    if (end <= at) return;
    BarPart part{.length = end - at, .is_gap = phase == nullptr};
    if (phase != nullptr) {
      part.ink = part_ink(place_of(phase->phase));
      part.name = phase->phase;
      part.letter = kPartTable.at(place_of(phase->phase)).letter;
      part.tooltip = phase->phase + " of bucket " + std::to_string(phase->bucket) + ": " +
                     format_time(phase->begin) + " to " + format_time(phase->end);
      if (phase->phase == "compute") part.tooltip = "compute until " + format_time(phase->end);
    }
    parts.push_back(std::move(part));
    at = end;
  };
  const PhaseOfStep* around = nullptr;  // the phase around the latest one
  for (const PhaseOfStep& phase : phases) {
    if (around != nullptr) lay(std::min(phase.begin, around->end), around);
    lay(phase.begin, nullptr);
    if (around == nullptr || phase.end > around->end)
      around = &phase;
    else
      lay(phase.end, &phase);
  }
  if (around != nullptr) lay(around->end, around);
  return parts;
}

std::vector<PhaseOfStep> known_phases(const RankTimeline& timeline, bool exchanges) {
  std::vector<PhaseOfStep> phases;
  for (const PhaseOfStep& phase : timeline)
    if (place_of(phase.phase) != kPhases && (phase.phase == "exchange") == exchanges)
      phases.push_back(phase);
  return phases;
}

const std::vector<RankTimeline>* timeline_of(const Cell* cell) {
  if (cell == nullptr || cell->used.empty() || cell->used.front()->timeline.empty()) return nullptr;
  return &cell->used.front()->timeline;
}

// Adds two rows: compute and codec work, and the exchanges.
void add_rows(const Series& series, const Cell& cell, const std::vector<RankTimeline>& ranks,
              BarChart& chart) {
  const RankTimeline& last = *std::ranges::max_element(ranks, {}, end_of);
  const bool is_trusted = cell.status == Status::kOk;
  chart.bars.push_back({series.label, "", is_trusted, laid_out(known_phases(last, false))});
  chart.bars.push_back(
      {"exchanges", format_time(end_of(last)), is_trusted, laid_out(known_phases(last, true))});
}

void add_overlapped(const Group& group, Figure& figure) {
  for (const double rate : panel_rates(group.rates)) {
    BarChart chart{
        .id = panel_id(figure),
        .alt = "Timeline of a step of each compressor at " + format_rate(rate) + ", " + group.title,
        .label = "time since the step began",
        .format = format_time};
    for (const Series& series : group.series) {
      const Cell* cell = series.is_overlapped() ? series.at(rate) : nullptr;
      if (const std::vector<RankTimeline>* ranks = timeline_of(cell))
        add_rows(series, *cell, *ranks, chart);
    }
    add_panel(figure, "Overlapped, " + format_rate(rate), chart);
  }
}

// Adds a row per rank with its phases one after the other, which shows the waits.
void add_ranks(const Group& group, const Series& series, double rate, Figure& figure) {
  constexpr std::size_t kMaxRows = 16;
  const Cell* cell = series.at(rate);
  const std::vector<RankTimeline>* ranks = timeline_of(cell);
  if (ranks == nullptr || series.is_overlapped()) return;
  BarChart chart;
  chart.id = panel_id(figure);
  chart.alt = "Timeline of a step of " + series.label + " at " + format_rate(rate) +
              " on every rank, " + group.title;
  chart.label = "time since the first rank began";
  chart.format = format_time;
  for (std::size_t rank = 0; rank < std::min(ranks->size(), kMaxRows); ++rank) {
    std::vector<PhaseOfStep> phases = known_phases((*ranks)[rank], false);
    for (const PhaseOfStep& exchange : known_phases((*ranks)[rank], true))
      phases.push_back(exchange);
    chart.bars.push_back({"rank " + std::to_string(rank), format_time(end_of((*ranks)[rank])),
                          cell->status == Status::kOk, laid_out(std::move(phases))});
  }
  add_panel(figure, series.label + ", " + format_rate(rate), chart);
}

}  // namespace

Figure parts_figure(const Group& group, const std::string& id) {
  Figure figure{id + "-parts", "Breakdown of a step"};
  figure.caption =
      "Mean time of each part on the rank that entered the exchange last, which the other ranks "
      "waited for. Means add up to the step; they exceed the medians where single steps were slow. "
      "Where exchanges overlap with compute, only exposed communication is drawn. Each link rate "
      "has its own scale. Outlined bars are points that failed their checks.";
  for (std::size_t part = 0; part < kParts; ++part)
    figure.legend.push_back({part_swatch(part, kPartTable[part].letter), kPartTable[part].name});
  for (const double rate : panel_rates(group.rates)) {
    BarChart chart;
    chart.id = panel_id(figure);
    chart.alt = "Compute, compress, exchange and decode time of each compressor at " +
                format_rate(rate) + ", " + group.title;
    chart.label = "mean time a step";
    chart.format = format_time;
    for (const Series& series : group.series) {
      const Cell* cell = series.at(rate);
      if (cell != nullptr && cell->step_time && !cell->repeats("exchange_time"_metric).empty())
        chart.bars.push_back(make_bar(series, *cell));
    }
    add_panel(figure, format_rate(rate), chart);
  }
  return figure;
}

Figure waits_figure(const Group& group, const std::string& id) {
  Figure figure{id + "-waits", "Waits by host"};
  figure.caption =
      "Time that the median other rank waited in exchanges for a host whose compute or codec took "
      "longer, as a fraction of the step. The number in a bar is the host's. Waits are small where "
      "all hosts are equal. Outlined bars are points that failed their checks.";
  const std::vector<int> hosts = drawn_hosts(group);
  if (hosts.size() == kMaxHosts)
    figure.caption +=
        " Bars have at most the eight hosts that were waited for longest; the totals count all.";
  for (std::size_t i = 0; i < hosts.size(); ++i)
    figure.legend.push_back(
        {part_swatch(i % kParts, std::to_string(hosts[i])), "host " + std::to_string(hosts[i])});
  for (const double rate : panel_rates(group.rates)) {
    BarChart chart;
    chart.id = panel_id(figure);
    chart.alt = "Fraction of a step spent waiting for other hosts at " + format_rate(rate) + ", " +
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

Figure timeline_figure(const Group& group, const std::string& id) {
  Figure figure{id + "-timeline", "Timeline of one step"};
  figure.caption =
      "One step of median length. Not overlapped: every rank at the lowest link rate, without "
      "compression and with the fastest compressor; exchanges include the wait for ranks that "
      "arrive later. Overlapped, where buckets leave as their gradients become ready: the rank "
      "that ended the step last, with compute and codec work above and the concurrent exchanges "
      "below. Exchanges that end after compute are exposed.";
  for (std::size_t phase = 0; phase < kPhases; ++phase)
    figure.legend.push_back({part_swatch(phase, kPartTable[phase].letter), kPartTable[phase].name});
  const double lowest = group.rates.front();
  const Series* best = outcome_at(group, lowest).best;
  for (const Series& series : group.series)
    if (series.is_baseline() || &series == best) add_ranks(group, series, lowest, figure);
  add_overlapped(group, figure);
  return figure;
}

}  // namespace thinpipe
