// Where a step's time goes.
#include <algorithm>
#include <array>

#include "reports/figures/bars.h"
#include "reports/figures/build.h"
#include "reports/figures/style.h"
#include "reports/text/units.h"

namespace thinpipe::figures {
namespace {

struct Part {
  const char* name;
  const char* metric;  // nullptr: what the others leave of the step
  const char* letter;
};

constexpr std::array<Part, kParts> kPartTable = {{{"compute", "compute_time", "c"},
                                                  {"compress", "compress_time", "z"},
                                                  {"exchange", "exchange_time", "x"},
                                                  {"decode", "decode_time", "d"},
                                                  {"other", nullptr, "o"}}};

// What runs under the rest of a step does not make it longer: of overlapped exchanges the exposed
// part counts, of codecs no more than what is left.
double part_length(const Series& series, const Cell& cell, const char* metric, double rest) {
  if (metric == nullptr) return rest;
  const bool hides = series.is_overlapped();
  const bool exposed = hides && std::string(metric) == "exchange_time";
  const double length =
      std::max(0.0, cell.mean_of_metric(exposed ? "exposed_time" : metric).value_or(0));
  return hides ? std::min(length, rest) : length;
}

// Means, because means of parts add up to the mean of the step; medians would not.
Bar make_bar(const Series& series, const Cell& cell) {
  const double step = cell.mean_of_metric("step_time").value_or(0);
  Bar bar;
  bar.label = series.label;
  bar.total = format_time(step);
  bar.is_trusted = cell.status == Status::kOk;
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

}  // namespace

Figure parts(const Group& group, const std::string& id) {
  Figure figure{id + "-parts", "Parts of a step", "", {}, {}};
  figure.caption =
      "Mean time of each part on the rank that entered the exchange last, the one the others "
      "waited for. Means are drawn because they add up; they lie above the medians where single "
      "steps were slow. Where exchanges overlap with compute, only what the step waited for them "
      "is drawn. Each link rate has its own scale. Bars in outline are points that did not pass "
      "their checks.";
  for (std::size_t part = 0; part < kParts; ++part) {
    figure.legend.push_back({part_swatch(part, kPartTable[part].letter), kPartTable[part].name});
  }
  for (const double rate : panel_rates(group)) {
    BarChart chart;
    chart.id = figure.id + "-" + std::to_string(figure.panels.size());
    chart.alt = "Compute, compress, exchange and decode time of each compressor at " +
                format_rate(rate) + ", " + group.title;
    chart.label = "mean time a step";
    chart.format = format_time;
    for (const Series& series : group.series) {
      const Cell* cell = series.at(rate);
      if (cell != nullptr && cell->step_time && !cell->repeats("exchange_time").empty()) {
        chart.bars.push_back(make_bar(series, *cell));
      }
    }
    add_panel(figure, format_rate(rate), chart);
  }
  return figure;
}

}  // namespace thinpipe::figures
