// Where each compressor pays, a line each, for a terminal.
#include <algorithm>

#include "reports/text/units.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

std::string open_interval(const BreakEven& even) {
  if (!even.low && !even.high) return "no interval";
  return (even.low ? format_rate(*even.low) : "open") + " to " +
         (even.high ? format_rate(*even.high) : "open");
}

// The rates at which the compressor was held against a baseline.
std::vector<double> trusted_rates(const Series& series) {
  std::vector<double> rates;
  for (const Cell& cell : series.cells) {
    if (cell.speedup) rates.push_back(cell.rate);
  }
  return rates;
}

bool has_baseline(const Group& group) {
  return std::any_of(group.series.begin(), group.series.end(),
                     [](const Series& series) { return series.is_baseline(); });
}

std::string statement(const Group& group, const Series& series) {
  const BreakEven& even = series.break_even;
  const std::vector<double> rates = trusted_rates(series);
  if (!has_baseline(group)) return " cannot be told: neither bf16 nor none was measured";
  if (rates.empty()) return " cannot be told: no step times to be trusted";
  if (rates.size() == 1) return " " + rates_told(series);
  const std::string range =
      "all rates from " + format_rate(rates.front()) + " to " + format_rate(rates.back());
  switch (even.kind) {
    case BreakEven::Kind::kPaysEverywhere:
      return " pays at " + range;
    case BreakEven::Kind::kPaysNowhere:
      return " does not pay: " + range;
    case BreakEven::Kind::kOpen:
      return " " + rates_told(series);
    case BreakEven::Kind::kPaysBelow:
      return " pays up to " + format_rate(even.rate) + " (" + open_interval(even) + ")";
    case BreakEven::Kind::kPaysAbove:
      return " pays only above " + format_rate(even.rate) + " (" + open_interval(even) + ")";
    case BreakEven::Kind::kNothingMeasured:
      break;
  }
  return "";
}

std::string without_up_to(const std::string& text) {
  const std::string begin = "up to ";
  return text.compare(0, begin.size(), begin) == 0 ? text.substr(begin.size()) : text;
}

// A name that is too long loses its end, the statement nothing.
std::string fitted(std::string name, const std::string& rest, std::size_t columns) {
  constexpr std::size_t kFewest = 24;
  const std::string cut = "...";
  if (name.size() + rest.size() > columns) {
    const std::size_t room = columns > rest.size() ? columns - rest.size() : 0;
    const std::size_t kept = std::max(room, kFewest);
    if (kept < name.size()) name = name.substr(0, kept - cut.size()) + cut;
  }
  return name + rest;
}

}  // namespace

std::vector<std::string> break_even_lines(const Summary& summary, std::size_t columns,
                                          const BreakEvenNote& note) {
  std::vector<std::string> lines;
  for (const Group& group : summary.groups) {
    const std::string prefix = summary.groups.size() > 1 ? "[" + group.title + "] " : "";
    for (const Series& series : group.series) {
      if (series.is_baseline()) continue;
      std::string rest = statement(group, series);
      if (const std::string predicted = predicted_break_even(series); !predicted.empty())
        rest += ", predicted " + without_up_to(predicted);
      if (const std::string more = note ? note(group, series) : ""; !more.empty())
        rest += ", " + more;
      lines.push_back(fitted(prefix + series.label, rest, columns));
      if (const std::string over = over_none_text(group, series); !over.empty())
        lines.push_back("  over none alone " + over);
    }
  }
  return lines;
}

}  // namespace thinpipe
