// What ranks did when in one step.
#include <algorithm>
#include <array>

#include "reports/figures/bars.h"
#include "reports/figures/build.h"
#include "reports/figures/style.h"
#include "reports/text/units.h"
#include "reports/verdict/verdict.h"

namespace thinpipe::figures {
namespace {

// In the colours of the parts of a step.
constexpr std::array<const char*, 4> kPhases = {"compute", "compress", "exchange", "decode"};
constexpr std::array<const char*, 4> kPhaseLetters = {"c", "z", "x", "d"};

std::size_t place_of(const std::string& phase) {
  const auto found = std::find(kPhases.begin(), kPhases.end(), phase);
  return found == kPhases.end() ? kPhases.size()
                                : static_cast<std::size_t>(found - kPhases.begin());
}

double end_of(const RankTimeline& timeline) {
  double end = 0;
  for (const PhaseOfStep& phase : timeline) end = std::max(end, phase.end);
  return end;
}

// Phases one after the other with gaps between; where one begins inside another, the later one is
// what is drawn: hooks inside the backward pass.
std::vector<BarPart> laid_out(std::vector<PhaseOfStep> phases) {
  std::sort(phases.begin(), phases.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::vector<BarPart> parts;
  double at = 0;
  const auto lay = [&](double end, const PhaseOfStep* phase) {
    if (end <= at) return;
    BarPart part;
    part.length = end - at;
    part.is_gap = phase == nullptr;
    if (phase != nullptr) {
      part.ink = part_ink(place_of(phase->phase));
      part.name = phase->phase;
      part.letter = kPhaseLetters.at(place_of(phase->phase));
      part.tooltip = phase->phase + " of bucket " + std::to_string(phase->bucket) + ": " +
                     format_time(phase->begin) + " to " + format_time(phase->end);
      if (phase->phase == "compute") part.tooltip = "compute until " + format_time(phase->end);
    }
    parts.push_back(std::move(part));
    at = end;
  };
  const PhaseOfStep* around = nullptr;  // what the phases so far lie in
  for (const PhaseOfStep& phase : phases) {
    if (around != nullptr) lay(std::min(phase.begin, around->end), around);
    lay(phase.begin, nullptr);
    if (around == nullptr || phase.end > around->end) {
      around = &phase;
      continue;
    }
    lay(phase.end, &phase);
  }
  if (around != nullptr) lay(around->end, around);
  return parts;
}

std::vector<PhaseOfStep> known_phases(const RankTimeline& timeline, bool exchanges) {
  std::vector<PhaseOfStep> phases;
  for (const PhaseOfStep& phase : timeline)
    if (place_of(phase.phase) != kPhases.size() && (phase.phase == "exchange") == exchanges)
      phases.push_back(phase);
  return phases;
}

const std::vector<RankTimeline>* timeline_of(const Cell* cell) {
  if (cell == nullptr || cell->used.empty() || cell->used.front()->timeline.empty()) return nullptr;
  return &cell->used.front()->timeline;
}

// Two rows: compute and codec, and the exchanges beside them.
void add_rows(const Series& series, const Cell& cell, const std::vector<RankTimeline>& ranks,
              BarChart& chart) {
  const RankTimeline& last =
      *std::max_element(ranks.begin(), ranks.end(),
                        [](const auto& a, const auto& b) { return end_of(a) < end_of(b); });
  const bool is_trusted = cell.status == Status::kOk;
  chart.bars.push_back({series.label, "", is_trusted, laid_out(known_phases(last, false))});
  chart.bars.push_back(
      {"exchanges", format_time(end_of(last)), is_trusted, laid_out(known_phases(last, true))});
}

void add_overlapped(const Group& group, Figure& figure) {
  for (const double rate : panel_rates(group)) {
    BarChart chart;
    chart.id = figure.id + "-" + std::to_string(figure.panels.size());
    chart.alt =
        "Timeline of a step of each compressor at " + format_rate(rate) + ", " + group.title;
    chart.label = "time since the step began";
    chart.format = format_time;
    for (const Series& series : group.series) {
      const Cell* cell = series.is_overlapped() ? series.at(rate) : nullptr;
      if (const std::vector<RankTimeline>* ranks = timeline_of(cell))
        add_rows(series, *cell, *ranks, chart);
    }
    add_panel(figure, "Overlapped, " + format_rate(rate), chart);
  }
}

// A row a rank, phases one after the other: who waits for whom.
void add_ranks(const Group& group, const Series& series, double rate, Figure& figure) {
  constexpr std::size_t kMostRows = 16;
  const Cell* cell = series.at(rate);
  const std::vector<RankTimeline>* ranks = timeline_of(cell);
  if (ranks == nullptr || series.is_overlapped()) return;
  BarChart chart;
  chart.id = figure.id + "-" + std::to_string(figure.panels.size());
  chart.alt = "Timeline of a step of " + series.label + " at " + format_rate(rate) +
              " on every rank, " + group.title;
  chart.label = "time since the first rank began";
  chart.format = format_time;
  for (std::size_t rank = 0; rank < std::min(ranks->size(), kMostRows); ++rank) {
    std::vector<PhaseOfStep> phases = known_phases((*ranks)[rank], false);
    for (const PhaseOfStep& exchange : known_phases((*ranks)[rank], true))
      phases.push_back(exchange);
    chart.bars.push_back({"rank " + std::to_string(rank), format_time(end_of((*ranks)[rank])),
                          cell->status == Status::kOk, laid_out(std::move(phases))});
  }
  add_panel(figure, series.label + ", " + format_rate(rate), chart);
}

}  // namespace

Figure timeline(const Group& group, const std::string& id) {
  Figure figure{id + "-timeline", "Timeline of one step", "", {}, {}};
  figure.caption =
      "One step of median length. Of each rank, at the lowest link rate: without compression, and "
      "with what was fastest there; exchanges hold the waiting for ranks that come later. "
      "Overlapped: of the rank that ended the step last, where buckets left as their gradients "
      "became ready: above, compute and codec work; below, the exchanges that ran beside them. "
      "What sticks out behind compute is what the step waited for.";
  for (std::size_t phase = 0; phase < kPhases.size(); ++phase)
    figure.legend.push_back({part_swatch(phase, kPhaseLetters.at(phase)), kPhases[phase]});
  const double lowest = group.rates.front();
  const Series* best = outcome_at(group, lowest).best;
  for (const Series& series : group.series)
    if (series.is_baseline() || &series == best) add_ranks(group, series, lowest, figure);
  add_overlapped(group, figure);
  return figure;
}

}  // namespace thinpipe::figures
