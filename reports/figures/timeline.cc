// What a rank did when, where exchanges ran under compute.
#include <algorithm>
#include <array>

#include "reports/figures/bars.h"
#include "reports/figures/build.h"
#include "reports/figures/style.h"
#include "reports/text/units.h"

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

// Two rows: compute and codec, and the exchanges beside them.
void add_rows(const Series& series, const Cell& cell, BarChart& chart) {
  const auto& ranks = cell.used.front()->timeline;
  const RankTimeline& last =
      *std::max_element(ranks.begin(), ranks.end(),
                        [](const auto& a, const auto& b) { return end_of(a) < end_of(b); });
  std::vector<PhaseOfStep> own, exchanges;
  for (const PhaseOfStep& phase : last) {
    if (place_of(phase.phase) == kPhases.size()) continue;
    (phase.phase == "exchange" ? exchanges : own).push_back(phase);
  }
  const bool is_trusted = cell.status == Status::kOk;
  chart.bars.push_back({series.label, "", is_trusted, laid_out(std::move(own))});
  chart.bars.push_back(
      {"exchanges", format_time(end_of(last)), is_trusted, laid_out(std::move(exchanges))});
}

}  // namespace

Figure timeline(const Group& group, const std::string& id) {
  Figure figure{id + "-timeline", "Steps whose exchanges overlap with compute", "", {}, {}};
  figure.caption =
      "One step of median length of the rank that ended it last, of those points whose buckets "
      "left "
      "as their gradients became ready: above, compute and codec work; below, the exchanges that "
      "ran "
      "beside them. What sticks out behind compute is what the step waited for.";
  for (std::size_t phase = 0; phase < kPhases.size(); ++phase)
    figure.legend.push_back({part_swatch(phase, kPhaseLetters.at(phase)), kPhases[phase]});
  for (std::size_t i = 0; i < group.rates.size(); ++i) {
    BarChart chart;
    chart.id = figure.id + "-" + std::to_string(i);
    chart.alt = "Timeline of a step of each compressor at " + format_rate(group.rates[i]) + ", " +
                group.title;
    chart.label = "time since the step began";
    chart.format = format_time;
    for (const Series& series : group.series) {
      const Cell* cell = series.is_overlapped() ? series.at(group.rates[i]) : nullptr;
      if (cell != nullptr && !cell->used.empty() && !cell->used.front()->timeline.empty())
        add_rows(series, *cell, chart);
    }
    add_panel(figure, format_rate(group.rates[i]), chart);
  }
  return figure;
}

}  // namespace thinpipe::figures
