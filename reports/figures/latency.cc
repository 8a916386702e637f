// How long encoding takes against Top-k.
#include <algorithm>

#include "base/text.h"
#include "reports/figures/build.h"
#include "reports/text/units.h"

namespace thinpipe::figures {
namespace {

// Encoding does not depend on the link: trusted repeats at all rates are taken together.
Repeats encode_times(const Series& series) {
  Repeats all;
  for (const Cell& cell : series.cells) {
    if (cell.status != Status::kOk) continue;
    for (std::vector<double>& repeat : cell.repeats("compress_time"))
      if (std::all_of(repeat.begin(), repeat.end(), [](double time) { return time > 0; }))
        all.push_back(std::move(repeat));
  }
  return all;
}

std::string ratio_of(const std::string& spec) {
  for (const std::string& part : split(spec.substr(spec.find(':') + 1), ','))
    if (part.starts_with("ratio=")) return part;
  return "";
}

// Top-k with the same ratio, else any.
const Series* top_k_for(const Group& group, const Series& series) {
  const Series* found = nullptr;
  for (const Series& candidate : group.series) {
    if (candidate.method != "topk" || encode_times(candidate).empty()) continue;
    if (ratio_of(candidate.compressor) == ratio_of(series.compressor)) return &candidate;
    if (found == nullptr) found = &candidate;
  }
  return found;
}

}  // namespace

Figure latency(const Group& group, const std::string& id) {
  Figure figure{id + "-latency", "Encoding against Top-k", "", {}, {}};
  figure.caption =
      "Median time in which Top-k encodes a step's gradients over that of the compressor, with 95 "
      "% bootstrap intervals, all link rates together: right of the dashed line it is faster than "
      "Top-k, as SIDCo's figure 1 has it. Ranks shared the machine's cores, so these times are "
      "longer than those of thinpipe bench. Against the Top-k of the same ratio where there is "
      "one.";
  BoxChart chart;
  chart.id = figure.id;
  chart.alt = "How many times as fast as Top-k each compressor encodes, " + group.title;
  chart.axis = {"times as fast as Top-k", true, format_number, {1.0}, {}};
  chart.reference_lines = {1.0};
  for (const Series& series : group.series) {
    const Repeats own = encode_times(series);
    const Series* top_k = top_k_for(group, series);
    if (series.is_baseline() || own.empty() || top_k == nullptr || top_k == &series) continue;
    const Estimate ratio = ratio_of_medians(bootstrap_median(encode_times(*top_k), top_k->style),
                                            bootstrap_median(own, series.style));
    chart.rows.push_back({.label = series.label,
                          .style = series.style,
                          .middle = ratio.value,
                          .box = ratio.interval,
                          .tooltip = series.label + "\n" + format_number(ratio.value) +
                                     " times as fast as " + top_k->label + " (" +
                                     format_interval(ratio, format_number) + ")"});
  }
  add_panel(figure, "", chart);
  return figure;
}

}  // namespace thinpipe::figures
