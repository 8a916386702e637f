#include "harness/bench/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compressors/registry.h"

namespace thinpipe {
namespace {

constexpr std::size_t kSpecColumns = 30;
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
  return fmt::format("{:<8}{:>9}{:>8}{:>9}{:>8}{:>10}{:>9}{:>7}", row.simd, three(row.encode),
                     three(row.encode / row.t_r), three(row.decode), three(q.selected_share),
                     bits(q.bits_per_element), three(q.relative_error),
                     fmt::format("{:.3g}", q.passes));
}

std::string heading() {
  std::string text = "  " + std::string("compressor") + std::string(kSpecColumns - 10, ' ');
  text += fmt::format("{:<8}{:>9}{:>8}{:>9}{:>8}{:>10}{:>9}{:>7}\n", "simd", "encode", "encode",
                      "decode", "k^/k", "bits", "error,", "passes");
  text += std::string(kSpecColumns + 2, ' ');
  return text + fmt::format("{:<8}{:>9}{:>8}{:>9}{:>8}{:>10}{:>9}\n", "", "ns/elem", "/ t_R",
                            "ns/elem", "", "/ elem", "relative");
}

std::string line(const BenchRow& row, bool winner) {
  const char mark = winner ? '*' : ' ';
  const std::string cells = numbers(row);
  if (row.compressor.size() < kSpecColumns) {
    return fmt::format("{} {:<{}}{}\n", mark, row.compressor, kSpecColumns, cells);
  }
  // A long spec has lines of its own, broken after commas.
  std::string text(1, mark);
  text += ' ';
  std::size_t used = 2;
  for (std::size_t start = 0; start < row.compressor.size();) {
    const std::size_t comma = row.compressor.find(',', start);
    const std::string part =
        row.compressor.substr(start, comma == std::string::npos ? comma : comma + 1 - start);
    if (used > 2 && used + part.size() > kBenchColumns) {
      text += "\n    ";
      used = 4;
    }
    text += part;
    used += part.size();
    start += part.size();
  }
  return text + fmt::format("\n  {:<{}}{}\n", "", kSpecColumns, cells);
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

std::string bench_table(BenchGroup group) {
  std::stable_sort(group.rows.begin(), group.rows.end(),
                   [](const BenchRow& a, const BenchRow& b) { return a.encode < b.encode; });
  const auto winner = std::find_if(group.rows.begin(), group.rows.end(), [](const BenchRow& row) {
    return row.quality.bits_per_element < kDenseBits;
  });
  std::string text = fmt::format("{}, {} elements, {} thread{}: t_R = {} ns/element\n",
                                 group.tensor, group.elements, group.threads,
                                 group.threads == 1 ? "" : "s", three(group.roofline.t_r));
  text += roofline_lines(group.roofline) + heading();
  for (auto row = group.rows.begin(); row != group.rows.end(); ++row) {
    text += line(*row, row == winner);
  }
  for (const BenchRow& row : group.rows) {
    if (row.allocations > 0) {
      text += fmt::format("  note: {} allocations an encode: {} ({})\n", three(row.allocations),
                          row.compressor, row.simd);
    }
  }
  return text;
}

}  // namespace thinpipe
