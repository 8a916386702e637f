#include "harness/bench/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/plain_table.h"
#include "base/text.h"
#include "base/units.h"
#include "compressors/registry.h"
#include "harness/options/terminal.h"
#include "reports/record/record.h"

namespace thinpipe {
namespace {

using Json = nlohmann::json;

constexpr double kSeconds = 1e-9;  // a nanosecond

// Returns three significant digits without an exponent; "-" for a value that is not finite.
std::string three_digits(double value) {
  if (!std::isfinite(value)) return "-";
  const double magnitude = std::fabs(value);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  if (magnitude >= 0.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

void add_row(const BenchRow& row, bool winner, PlainTable& table) {
  const Quality& q = row.quality;
  table.add({(winner ? "* " : "  ") + row.compressor, row.simd, three_digits(row.encode),
             three_digits(row.encode / row.t_r), three_digits(100 * row.floor / row.encode),
             three_digits(row.decode), three_digits(q.selected_share),
             bits_text(q.bits_per_element), three_digits(q.relative_error)});
}

// Returns the line of the reads. `text_of` makes the table's unit of ns/element.
template <class TextOf>
std::string read_line(const RooflineFigures& roofline, TextOf text_of) {
  std::string reads;
  for (const auto& [streams, time] : roofline.read)
    reads += fmt::format("{}{} ({} stream{})", reads.empty() ? "" : ", ", text_of(time), streams,
                         streams == 1 ? "" : "s");
  return fitted_lines(fmt::format("  read {}\n", reads));
}

// Sorts the rows by encode time. Returns the first row that sends fewer bits than a float has.
const BenchRow* sort_rows(std::vector<BenchRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const BenchRow& a, const BenchRow& b) { return a.encode < b.encode; });
  constexpr double kDenseBits = 32;
  const auto winner = std::find_if(rows.begin(), rows.end(), [](const BenchRow& row) {
    return row.quality.bits_per_element < kDenseBits;
  });
  return winner == rows.end() ? nullptr : &*winner;
}

std::string megahertz(const std::optional<std::uint64_t>& hertz) {
  return hertz ? fmt::format("{} MHz", *hertz / 1'000'000) : "unknown";
}

Point bench_point(const BenchOptions& options, const BenchGroup& group, const std::string& name,
                  const Spec& spec, const std::string& simd) {
  Point point;
  point.id = name;
  point.axes.compressor = short_spec(spec);
  if (name.starts_with(point.axes.compressor))
    point.normal_id =
        parameters_of(spec).normal().to_string() + name.substr(point.axes.compressor.size());
  point.axes.method = spec.name;
  point.bench = BenchSubject{.tensor = group.tensor,
                             .simd = simd,
                             .residency = to_string(options.residency),
                             .device = group.device,
                             .elements = static_cast<double>(group.elements),
                             .threads = static_cast<int>(group.threads),
                             .ratio = ratio_of(spec)};
  return point;
}

Metrics metrics_of(const BenchGroup& group, const BenchRow& row) {
  const double per_call = kSeconds * static_cast<double>(group.elements);
  const Quality& quality = row.quality;
  Metrics metrics;
  put(metrics, "encode_time"_metric, scaled(row.encode_samples, per_call));
  put(metrics, "decode_time"_metric, scaled(row.decode_samples, per_call));
  put(metrics, "encode_over_read"_metric, scaled(row.encode_samples, 1 / row.t_r));
  put(metrics, "decode_over_read"_metric, scaled(row.decode_samples, 1 / row.t_r));
  if (!row.encode_wall_samples.empty())
    put(metrics, "encode_wall_time"_metric, scaled(row.encode_wall_samples, per_call));
  if (!row.decode_wall_samples.empty())
    put(metrics, "decode_wall_time"_metric, scaled(row.decode_wall_samples, per_call));
  put(metrics, "read_time"_metric, {row.t_r * per_call});
  if (std::isfinite(row.floor)) put(metrics, "encode_floor"_metric, {row.floor * per_call});
  if (group.device != kDeviceCpu)
    put(metrics, "copy_time"_metric, {group.roofline.copy * per_call});
  put(metrics, "bits_per_element"_metric, {quality.bits_per_element});
  put(metrics, "passes"_metric, {static_cast<double>(quality.passes)});
  if (row.allocations >= 0)
    put(metrics, "allocations"_metric, {static_cast<double>(row.allocations)});
  put(metrics, "relative_error"_metric, {quality.relative_error});
  if (std::isfinite(quality.selected_share))
    put(metrics, "quality"_metric, {quality.selected_share});
  return metrics;
}

Json validation_of(const BenchOptions& options, const BenchGroup& group) {
  if (group.device == kDeviceCpu)
    return {{"reference", "the plainest instruction set on one thread"},
            {"checked_steps", kPlainSteps}};
  return {{"reference", "the CPU implementation, byte for byte"},
          {"checked_steps", options.warmup + 1}};
}

}  // namespace

std::string bits_text(double value) {
  return value != 0 && value < 0.0995 ? fmt::format("{:#.2g}", value) : three_digits(value);
}

std::vector<double> scaled(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

std::string short_spec(const Spec& spec) {
  const Parameters parameters = parameters_of(spec);
  Spec shorter = spec;
  std::erase_if(shorter.values, [&](const auto& value) {
    return !parameters.normal().values.contains(value.first);
  });
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
  const BenchRow* const winner = sort_rows(group.rows);
  const RooflineFigures& roofline = group.roofline;
  std::string text = fitted_lines(fmt::format(
      "{}, {} elements, {} thread{}: t_R = {} ns/element\n", group.tensor, group.elements,
      group.threads, group.threads == 1 ? "" : "s", three_digits(roofline.t_r)));
  text += read_line(roofline, three_digits) + fmt::format("  copy {}, triad {}\n",
                                                          three_digits(roofline.copy),
                                                          three_digits(roofline.triad));
  text += fmt::format("  reread {}, update {}, store {}, multiply-add {:#.2g}\n",
                      three_digits(roofline.reread), three_digits(roofline.update),
                      three_digits(roofline.store), roofline.multiply_add);
  PlainTable table({"  compressor", "simd", "encode\nns/elem", "encode\n/ t_R", "floor\n%",
                    "decode\nns/elem", "k^/k", "bits\n/ elem", "error,\nrelative"},
                   2);
  for (const BenchRow& row : group.rows) add_row(row, &row == winner, table);
  text += table.text(kBenchColumns);
  for (const BenchRow& row : group.rows) {
    if (row.allocations > 0)
      text += fitted_lines(fmt::format("  note: {} allocations an encode: {} ({})\n",
                                       three_digits(row.allocations), row.compressor, row.simd));
  }
  return text;
}

std::string device_heading(const BenchDevice& device) {
  const DeviceDescription& gpu = device.description;
  std::string text =
      fmt::format("{} ({}), L2 cache {}, CUDA {}, driver for CUDA {}", gpu.name, gpu.architecture,
                  format_bytes(static_cast<double>(gpu.l2_bytes)), gpu.runtime, gpu.driver);
  if (device.state)
    text += fmt::format(" ({}); at work: SM {}, memory {}", device.state->driver,
                        megahertz(device.state->sm_hz), megahertz(device.state->memory_hz));
  return text + "\n";
}

std::string device_table(BenchGroup group) {
  const BenchRow* const winner = sort_rows(group.rows);
  const auto microseconds = [&](double nanoseconds_per_element) {
    return three_digits(1e-3 * nanoseconds_per_element * static_cast<double>(group.elements));
  };
  PlainTable table({"  compressor", "encode\nus", "encode\n/ t_R", "encode\nwall us", "decode\nus",
                    "k^/k", "bits\n/ elem", "error,\nrelative", "passes"});
  for (const BenchRow& row : group.rows) {
    const Quality& quality = row.quality;
    table.add({(&row == winner ? "* " : "  ") + row.compressor, microseconds(row.encode),
               three_digits(row.encode / row.t_r), microseconds(row.encode_wall),
               microseconds(row.decode), three_digits(quality.selected_share),
               bits_text(quality.bits_per_element), three_digits(quality.relative_error),
               fmt::format("{:.3g}", quality.passes)});
  }
  return fitted_lines(fmt::format("{}, {} elements, {}: t_R = {} us\n", group.tensor,
                                  group.elements, group.device_name,
                                  microseconds(group.roofline.t_r))) +
         read_line(group.roofline, microseconds) +
         fmt::format("  copy {}\n", microseconds(group.roofline.copy)) + table.text(kBenchColumns);
}

std::vector<Point> bench_points(const BenchOptions& options, const BenchResult& result) {
  std::vector<Point> points;
  for (const BenchGroup& group : result.groups)
    for (const BenchRow& row : group.rows) {
      Point& point = points.emplace_back(bench_point(options, group, row.name, row.spec, row.simd));
      point.metrics = metrics_of(group, row);
      point.validation = Document(validation_of(options, group));
      point.details =
          Document(Json{{"order", {{"encode", row.encode_order}, {"decode", row.decode_order}}}});
    }
  for (const BenchFailure& failure : result.failures) {
    Point& point = points.emplace_back(bench_point(options, result.groups.at(failure.group),
                                                   failure.name, failure.spec, failure.simd));
    point.status = Status::kFailed;
    point.reasons = {failure.reason};
  }
  return points;
}

}  // namespace thinpipe
