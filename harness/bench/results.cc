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

// Returns the microseconds of a call of `elements` elements.
std::string microseconds(double nanoseconds_per_element, std::size_t elements) {
  return three_digits(1e-3 * nanoseconds_per_element * static_cast<double>(elements));
}

std::string device_lines(const BenchGroup& group) {
  std::string reads;
  for (const auto& [streams, time] : group.roofline.read) {
    reads += fmt::format("{}{} ({} stream{})", reads.empty() ? "" : ", ",
                         microseconds(time, group.elements), streams, streams == 1 ? "" : "s");
  }
  return fitted_lines(fmt::format("{}, {} elements, {}: t_R = {} us\n", group.tensor,
                                  group.elements, group.device_name,
                                  microseconds(group.roofline.t_r, group.elements))) +
         fitted_lines(fmt::format("  read {}\n", reads)) +
         fmt::format("  copy {}\n", microseconds(group.roofline.copy, group.elements));
}

std::string megahertz(const std::optional<std::uint64_t>& hertz) {
  return hertz ? fmt::format("{} MHz", *hertz / 1'000'000) : "unknown";
}

std::vector<double> scaled(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

Point bench_point(const BenchOptions& options, const BenchGroup& group, const std::string& name,
                  const Spec& spec, const std::string& simd) {
  Point point;
  point.id = name;
  point.axes.compressor = short_spec(spec);
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

bool compresses(const BenchRow& row) {
  constexpr double kDenseBits = 32;
  return row.quality.bits_per_element < kDenseBits;
}

std::string short_spec(const Spec& spec) {
  const std::string meaning = parameters_of(spec).text();
  Spec shorter = spec;
  for (const auto& [key, value] : spec.values) {
    Spec without = shorter;
    without.values.erase(key);
    if (parameters_of(without).text() == meaning) shorter = without;
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

std::string device_heading(const BenchDevice& device) {
  const DeviceDescription& gpu = device.description;
  std::string text =
      fmt::format("{} ({}), L2 cache {}, CUDA {}, driver for CUDA {}", gpu.name, gpu.architecture,
                  format_bytes(static_cast<double>(gpu.l2_bytes)), gpu.runtime, gpu.driver);
  if (device.state) {
    text += fmt::format(" ({}); at work: SM {}, memory {}", device.state->driver,
                        megahertz(device.state->sm_hz), megahertz(device.state->memory_hz));
  }
  return text + "\n";
}

std::string device_table(BenchGroup group) {
  std::stable_sort(group.rows.begin(), group.rows.end(),
                   [](const BenchRow& a, const BenchRow& b) { return a.encode < b.encode; });
  const auto winner = std::find_if(group.rows.begin(), group.rows.end(), compresses);
  PlainTable table({"  compressor", "encode\nus", "encode\n/ t_R", "encode\nwall us", "decode\nus",
                    "k^/k", "bits\n/ elem", "error,\nrelative", "passes"});
  for (auto row = group.rows.begin(); row != group.rows.end(); ++row) {
    const Quality& quality = row->quality;
    table.add({(row == winner ? "* " : "  ") + row->compressor,
               microseconds(row->encode, group.elements), three_digits(row->encode / row->t_r),
               microseconds(row->encode_wall, group.elements),
               microseconds(row->decode, group.elements), three_digits(quality.selected_share),
               bits_text(quality.bits_per_element), three_digits(quality.relative_error),
               fmt::format("{:.3g}", quality.passes)});
  }
  return device_lines(group) + table.text(kBenchColumns);
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
