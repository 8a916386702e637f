#include "harness/bench/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/plain_table.h"
#include "base/text.h"
#include "compressors/registry.h"
#include "harness/options/layout.h"

namespace thinpipe {
namespace {

void add_row(const BenchRow& row, bool winner, PlainTable& table) {
  const Quality& q = row.quality;
  table.add({(winner ? "* " : "  ") + row.compressor, row.simd, three_digits(row.encode),
             three_digits(row.encode / row.t_r), three_digits(row.decode),
             three_digits(q.selected_share), bits_text(q.bits_per_element),
             three_digits(q.relative_error), fmt::format("{:.3g}", q.passes)});
}

std::string roofline_lines(const RooflineFigures& roofline) {
  std::string reads;
  for (const auto& [streams, time] : roofline.read) {
    reads += fmt::format("{}{} ({} stream{})", reads.empty() ? "" : ", ", three_digits(time),
                         streams, streams == 1 ? "" : "s");
  }
  return fitted_lines(fmt::format("  read {}\n", reads)) +
         fmt::format("  copy {}, triad {}\n", three_digits(roofline.copy),
                     three_digits(roofline.triad));
}

}  // namespace

std::string three_digits(double value) {
  if (!std::isfinite(value)) return "-";
  const double magnitude = std::fabs(value);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  if (magnitude >= 0.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string bits_text(double value) {
  return value != 0 && value < 0.0995 ? fmt::format("{:#.2g}", value) : three_digits(value);
}

bool compresses(const BenchRow& row) {
  constexpr double kDenseBits = 32;
  return row.quality.bits_per_element < kDenseBits;
}

std::string short_spec(const Spec& spec) {
  const std::vector<ParameterInfo>& infos = find_method(spec.name).parameters;
  const std::string meaning = Parameters(infos, spec).text();
  Spec shorter = spec;
  for (const auto& [key, value] : spec.values) {
    Spec without = shorter;
    without.values.erase(key);
    if (Parameters(infos, without).text() == meaning) shorter = without;
  }
  return shorter.to_string();
}

std::string fitted_lines(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) {
    if (!out.empty()) out += '\n';
    if (line.size() <= kBenchColumns) {
      out += line;
      continue;
    }
    std::string words;
    for (const std::string& word : split(line, ' ')) {
      for (std::size_t at = 0; at < word.size(); at += kBenchColumns)
        words += word.substr(at, kBenchColumns) + ' ';
    }
    out += wrap(words, 0, kBenchColumns);
  }
  return out;
}

std::string bench_table(BenchGroup group) {
  std::stable_sort(group.rows.begin(), group.rows.end(),
                   [](const BenchRow& a, const BenchRow& b) { return a.encode < b.encode; });
  const auto winner = std::find_if(group.rows.begin(), group.rows.end(), compresses);
  std::string text = fitted_lines(fmt::format(
      "{}, {} elements, {} thread{}: t_R = {} ns/element\n", group.tensor, group.elements,
      group.threads, group.threads == 1 ? "" : "s", three_digits(group.roofline.t_r)));
  text += roofline_lines(group.roofline);
  PlainTable table({"  compressor", "simd", "encode\nns/elem", "encode\n/ t_R", "decode\nns/elem",
                    "k^/k", "bits\n/ elem", "error,\nrelative", "passes"},
                   2);
  for (auto row = group.rows.begin(); row != group.rows.end(); ++row)
    add_row(*row, row == winner, table);
  text += table.text(kBenchColumns);
  for (const BenchRow& row : group.rows) {
    if (row.allocations > 0) {
      text += fitted_lines(fmt::format("  note: {} allocations an encode: {} ({})\n",
                                       three_digits(row.allocations), row.compressor, row.simd));
    }
  }
  return text;
}

}  // namespace thinpipe
