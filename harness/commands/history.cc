// `thinpipe history`: a metric over many record files.

#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/plain_table.h"
#include "base/text.h"
#include "base/visible.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "reports/gate/gate.h"
#include "reports/gate/history.h"
#include "reports/history/page.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBars = 40;

std::vector<double> values_of(const HistorySeries& series) {
  std::vector<double> values;
  for (const HistoryEntry& entry : series.entries) values.push_back(entry.value);
  return values;
}

std::string history_line(const SeriesName& name, const HistorySeries& series) {
  const std::vector<double> values = values_of(series);
  const double margin = GatePolicy().stored(series.kind);
  std::string text = fmt::format("{}\n  {}  {}", name.first, sparkline(values, kBars),
                                 history_value_text(series, values.back()));
  if (const auto found = standing(values, margin)) {
    const std::size_t before = values.size() - 1 - found->since;
    text += found->typical != 0
                ? fmt::format("; {:+.2f} % vs. the {} before", 100 * found->change, before)
                : fmt::format("; the {} before had a median of 0", before);
    if (found->since > 0) text += ", since a step at " + series.entries[found->since].created;
    if (is_outlying(*found, margin)) text += ": outlying";
  }
  // The point's id has a line of its own, however long it is.
  const std::size_t values_begin = text.find('\n') + 1;
  return text.substr(0, values_begin) + folded(text.substr(values_begin), 4, " ");
}

Json json_of(const SeriesName& name, const HistorySeries& series) {
  Json entries = Json::array();
  for (const HistoryEntry& entry : series.entries)
    entries.push_back(
        {{"created", entry.created}, {"file", entry.file.string()}, {"value", entry.value}});
  Json json = {{"point", name.first},     {"metric", name.second}, {"unit", series.unit},
               {"better", series.better}, {"kind", series.kind},   {"entries", entries}};
  if (const auto found = standing(values_of(series), GatePolicy().stored(series.kind)))
    json["standing"] = {{"since", found->since},
                        {"typical", found->typical},
                        {"change", found->change},
                        {"z", std::isfinite(found->z) ? Json(found->z) : Json(nullptr)}};
  return json;
}

int print_history(const Arguments& arguments) {
  const History history = read_history(arguments.text("dir"));
  for (const std::string& note : history.notes) print_message(for_stream(STDERR_FILENO, note));
  const std::string& metric = arguments.positional("METRIC");
  std::set<std::string> known;
  std::string text;
  Json json = Json::array();
  for (const auto& [name, series] : history.series) {
    known.insert(name.second);
    if (name.second != metric) continue;
    if (fnmatch(arguments.text("point").c_str(), name.first.c_str(), 0) != 0) continue;
    text += history_line(name, series);
    json.push_back(json_of(name, series));
  }
  if (json.empty())
    throw InputError(fmt::format("no metric {} for points {} in the {} launches{}",
                                 in_quotes(metric), in_quotes(arguments.text("point")),
                                 history.launches,
                                 did_you_mean(metric, {known.begin(), known.end()})));
  arguments.flag("json") ? write_json(json) : write_text(text);
  return kExitGood;
}

Action prepare_history(const Arguments& arguments) {
  return [&] { return print_history(arguments); };
}

}  // namespace

Verb history_verb() {
  return {.name = "history",
          .summary = "Show a metric over many record files",
          .description =
              "Reads every *.jsonl below a folder. Each launch is an entry, oldest first. Prints "
              "the metric of each launch as a bar: the median of times, the mean of other metrics. "
              "Then prints the newest value, and its deviation from the values since the last step "
              "change. Times in seconds are taken from the machine of the newest launch only.",
          .options = {folder_option("dir", "DIR", ".", "folder of record files"),
                      text_option("point", "GLOB", "*",
                                  "only points whose id matches, such as 'topk*'"),
                      {.name = "json", .help = "print JSON for programs"}},
          .positionals = {{.name = "METRIC",
                           .help = "metric of records, such as encode_over_read; see `thinpipe "
                                   "list metrics`"}},
          .examples = {{"Encode time of top-k relative to reading the tensor",
                        "thinpipe history encode_over_read --dir records --point 'topk*'"}},
          .prepare = prepare_history};
}

}  // namespace thinpipe
