#include "harness/bench/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "compressors/registry.h"
#include "harness/options/layout.h"

namespace thinpipe {
namespace {

// Both together: a long name of an instruction set takes from the specs.
constexpr std::size_t kNameColumns = 38;
constexpr std::size_t kSimdColumns = 8;
constexpr double kDenseBits = 32;  // of a float: what does not go below it compresses nothing

// Three significant digits without an exponent; "-" for what there is not.
std::string three(double value) {
  if (!std::isfinite(value)) return "-";
  const double magnitude = std::fabs(value);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  if (magnitude >= 0.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

// Small shares of a bit are the point of some methods.
std::string bits(double value) {
  return value != 0 && value < 0.0995 ? fmt::format("{:#.2g}", value) : three(value);
}

std::string numbers(const BenchRow& row) {
  const Quality& q = row.quality;
  return fmt::format("{:>9}{:>8}{:>9}{:>8}{:>10}{:>9}{:>7}", three(row.encode),
                     three(row.encode / row.t_r), three(row.decode), three(q.selected_share),
                     bits(q.bits_per_element), three(q.relative_error),
                     fmt::format("{:.3g}", q.passes));
}

std::string heading(std::size_t simd_columns) {
  return fmt::format("  {:<{}}{:<{}}{:>9}{:>8}{:>9}{:>8}{:>10}{:>9}{:>7}\n", "compressor",
                     kNameColumns - simd_columns, "simd", simd_columns, "encode", "encode",
                     "decode", "k^/k", "bits", "error,", "passes") +
         fmt::format("  {:<{}}{:>9}{:>8}{:>9}{:>8}{:>10}{:>9}\n", "", kNameColumns, "ns/elem",
                     "/ t_R", "ns/elem", "", "/ elem", "relative");
}

std::string line(const BenchRow& row, bool winner, std::size_t simd_columns) {
  const char mark = winner ? '*' : ' ';
  const std::size_t spec_columns = kNameColumns - simd_columns;
  const std::string cells = fmt::format("{:<{}}{}", row.simd, simd_columns, numbers(row));
  if (row.compressor.size() < spec_columns) {
    return fmt::format("{} {:<{}}{}\n", mark, row.compressor, spec_columns, cells);
  }
  // A long spec has lines of its own, broken after commas.
  std::string text(1, mark);
  text += ' ';
  std::size_t used = 2;
  constexpr std::size_t kIndent = 4;
  for (std::size_t start = 0; start < row.compressor.size();) {
    const std::size_t comma = row.compressor.find(',', start);
    const std::size_t end = comma == std::string::npos ? row.compressor.size() : comma + 1;
    const std::string part =
        row.compressor.substr(start, std::min(end - start, kBenchColumns - kIndent));
    if (used > 2 && used + part.size() > kBenchColumns) {
      text += "\n" + std::string(kIndent, ' ');
      used = kIndent;
    }
    text += part;
    used += part.size();
    start += part.size();
  }
  return text + fmt::format("\n  {:<{}}{}\n", "", spec_columns, cells);
}

std::string roofline_lines(const RooflineFigures& roofline) {
  std::string reads;
  for (const auto& [streams, time] : roofline.read) {
    reads += fmt::format("{}{} ({} stream{})", reads.empty() ? "" : ", ", three(time), streams,
                         streams == 1 ? "" : "s");
  }
  return fmt::format("  read {}\n  copy {}, triad {}\n", reads, three(roofline.copy),
                     three(roofline.triad));
}

}  // namespace

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
  const auto winner = std::find_if(group.rows.begin(), group.rows.end(), [](const BenchRow& row) {
    return row.quality.bits_per_element < kDenseBits;
  });
  // One blank behind the longest, and half of the columns at least for specs.
  std::size_t simd_columns = kSimdColumns;
  for (const BenchRow& row : group.rows)
    simd_columns = std::clamp(row.simd.size() + 1, simd_columns, kNameColumns / 2);
  std::string text = fitted_lines(fmt::format(
      "{}, {} elements, {} thread{}: t_R = {} ns/element\n", group.tensor, group.elements,
      group.threads, group.threads == 1 ? "" : "s", three(group.roofline.t_r)));
  text += roofline_lines(group.roofline) + heading(simd_columns);
  for (auto row = group.rows.begin(); row != group.rows.end(); ++row) {
    text += line(*row, row == winner, simd_columns);
  }
  for (const BenchRow& row : group.rows) {
    if (row.allocations > 0) {
      text += fitted_lines(fmt::format("  note: {} allocations an encode: {} ({})\n",
                                       three(row.allocations), row.compressor, row.simd));
    }
  }
  return text;
}

}  // namespace thinpipe
