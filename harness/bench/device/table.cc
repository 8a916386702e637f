#include "harness/bench/device/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/plain_table.h"
#include "base/units.h"

namespace thinpipe {
namespace {

// Microseconds of a call of so many elements.
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

}  // namespace

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
  PlainTable table({"  compressor", "encode\nus", "encode\n/ t_R", "and\nback us", "decode\nus",
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

}  // namespace thinpipe
