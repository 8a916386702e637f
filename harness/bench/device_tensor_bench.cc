#include "harness/bench/device_tensor_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/statistics.h"
#include "compressors/simd.h"
#include "harness/bench/results.h"
#include "harness/bench/subject.h"
#include "harness/bench/timed.h"
#include "harness/machine/gpu.h"
#include "harness/machine/machine.h"

namespace thinpipe {
namespace {

// Free memory required before another compressor is made, as a multiple of the last one's memory.
constexpr double kMemoryMargin = 1.25;

std::string device_read_name(int streams) { return fmt::format("read/streams:{}", streams); }
constexpr const char* kDeviceCopy = "copy";

// Returns the sum of the values' bits, as DeviceRoofline adds them.
std::uint32_t word_sum(std::span<const float> values) {
  std::uint32_t sum = 0;
  for (const float value : values) sum += std::bit_cast<std::uint32_t>(value);
  return sum;
}

}  // namespace

DeviceTensorBench::DeviceTensorBench(const BenchOptions& options, OpenDevice open,
                                     TensorInfo tensor, std::span<const float> values,
                                     Progress& progress, BenchResult& result,
                                     std::vector<benchmark::BenchmarkReporter::Run>& rows)
    : options_(options),
      open_(std::move(open)),
      tensor_(std::move(tensor)),
      values_(values),
      progress_(progress),
      result_(result),
      rows_(rows),
      group_(result.groups.size()) {
  result.groups.push_back(
      {.tensor = tensor_.name, .elements = tensor_.elements, .threads = 1, .device = kDeviceCuda});
  this->open();
}

void DeviceTensorBench::open() {
  device_ = open_();
  inputs_ = std::make_unique<DeviceInputs>(*device_, tensor_, values_, options_.residency);
  group().device_name = device_->description.name;
}

// Frees all memory.
void DeviceTensorBench::close() {
  batch_.clear();
  inputs_.reset();
  device_.reset();
}

std::string DeviceTensorBench::place() const {
  return fmt::format("{}:{}/{}/{}", tensor_.name, tensor_.elements, to_string(options_.residency),
                     kDeviceCuda);
}

void DeviceTensorBench::run(const std::vector<Spec>& specs) {
  set_simd_target("best");  // of the CPU compressors
  for (const Spec& spec : specs) {
    if (interrupted()) throw RunError("interrupted");
    add(spec);
  }
  if (!batch_.empty() || group().roofline.read.empty()) time_batch();
  close();
}

void DeviceTensorBench::fail(const Point& point, const std::string& reason) {
  result_.failures.push_back({.name = point.name,
                              .spec = point.spec,
                              .simd = device_->description.architecture,
                              .group = group_,
                              .reason = reason});
}

void DeviceTensorBench::add(const Spec& spec) {
  if (!device_) open();
  const auto fresh = [&] {
    return Point{
        .spec = spec, .name = short_spec(spec) + "/" + place(), .subject = nullptr, .quality = {}};
  };
  const std::size_t free = device_->memory->free_bytes();
  Point point = fresh();
  if (!prepare(point)) {  // the memory of others may be the cause
    time_batch();
    close();
    open();
    point = fresh();
    prepare(point);
  }
  if (point.subject == nullptr) return;
  batch_.push_back(std::move(point));
  const std::size_t left = device_->memory->free_bytes();
  const auto taken = static_cast<double>(free - std::min(free, left));
  if (static_cast<double>(left) < kMemoryMargin * taken) {
    time_batch();
    close();
  }
}

// Makes, warms up and validates the point's subject, which stays null if that fails. Returns false
// if a second attempt may succeed after the memory of the batch's other compressors has been freed.
bool DeviceTensorBench::prepare(Point& point) {
  progress_.describe("warming up " + point.name);
  try {
    const int cores = std::max(1, static_cast<int>(read_machine(".").cores));
    point.subject = std::make_unique<DeviceSubject>(
        *device_, point.spec,
        CompressorSettings{.seed = options_.seed, .rank = 0, .threads = cores}, *inputs_);
    point.quality = point.subject->warm_up(options_.warmup);
    return true;
  } catch (const ValidationError& error) {
    fail(point, error.what());
  } catch (const RunError& error) {
    point.subject.reset();
    if (!batch_.empty()) return false;
    fail(point, error.what());
  } catch (const std::exception& error) {
    fail(point, error.what());
  }
  point.subject.reset();
  return true;
}

// Reads use one input after the other, as the compressors do.
std::vector<DeviceTimed> DeviceTensorBench::timed_roofline() {
  std::vector<DeviceTimed> what;
  DeviceRoofline& roofline = *device_->roofline;
  for (const int streams : DeviceRoofline::kStreamCounts) {
    what.push_back({.name = device_read_name(streams), .call = [this, &roofline, streams] {
                      roofline.read(inputs_->gradient(read_++), inputs_->elements(), streams);
                    }});
  }
  what.push_back({.name = kDeviceCopy, .call = [this, &roofline] {
                    roofline.copy(inputs_->gradient(copied_), inputs_->elements(),
                                  inputs_->output(copied_));
                    ++copied_;
                  }});
  return what;
}

RooflineFigures DeviceTensorBench::figures(const DeviceTimings& timings) const {
  const double scale = 1e9 / static_cast<double>(tensor_.elements);
  const auto nanoseconds = [&](const std::string& name) {
    const DeviceTiming& timing = timings.at(name);
    if (!timing.error.empty()) throw RunError(name + ": " + timing.error);
    return scale * median(timing.device);
  };
  RooflineFigures figures;
  for (const int streams : DeviceRoofline::kStreamCounts) {
    figures.read[streams] = nanoseconds(device_read_name(streams));
    figures.t_r = std::min(figures.t_r, figures.read[streams]);
  }
  figures.copy = nanoseconds(kDeviceCopy);
  return figures;
}

// Checks that every timed read has read every element: all inputs have the same sum of words.
void DeviceTensorBench::check_reads() {
  const std::uint32_t expected = static_cast<std::uint32_t>(read_) * word_sum(values_);
  const std::uint32_t found = device_->roofline->take_sum();
  if (found != expected) {
    throw ValidationError(
        fmt::format("reading {} elements on the GPU {} times gives a sum of words of {}, not {}",
                    tensor_.elements, read_, found, expected));
  }
}

// Queries the clocks while the device works, because they are lower when it is idle.
void DeviceTensorBench::note_device(double t_r) {
  constexpr double kWorkFor = 0.05;  // s, more than the query takes
  constexpr int kMaxReads = 5000;
  if (result_.device) return;
  ask_nvml(device_->description.bus);  // loads NVML, which takes longer
  const double reads =
      kWorkFor / std::max(t_r * 1e-9 * static_cast<double>(tensor_.elements), 1e-9);
  for (int i = 0; i < std::min(reads, double{kMaxReads}); ++i)
    device_->roofline->read(inputs_->gradient(read_++), inputs_->elements(), 8);
  result_.device = {.description = device_->description,
                    .state = ask_nvml(device_->description.bus)};
  device_->memory->wait();
}

void DeviceTensorBench::time_batch() {
  read_ = copied_ = 0;
  device_->roofline->take_sum();
  std::vector<DeviceTimed> what = timed_roofline();
  for (const Point& point : batch_) {
    DeviceSubject& subject = *point.subject;
    what.push_back(
        {.name = "encode/" + point.name, .call = [&subject] { subject.encode(); }, .waits = true});
    what.push_back(
        {.name = "decode/" + point.name, .call = [&subject] { subject.decode(); }, .waits = true});
  }
  const DeviceTimings timings =
      measure_on_device(*device_->clock, what, options_, [&](const std::string& name) {
        progress_.describe(name);
        progress_.advance(1);
      });
  const RooflineFigures roofline = figures(timings);
  note_device(roofline.t_r);
  check_reads();
  if (group().roofline.read.empty()) {
    group().roofline = roofline;
    for (const DeviceTimed& timed : what)
      if (!timed.waits) add_json({.name = timed.name + "/" + place()}, timings.at(timed.name));
  }
  for (Point& point : batch_) add_row(point, timings, roofline);
  batch_.clear();
}

void DeviceTensorBench::add_row(Point& point, const DeviceTimings& timings,
                                const RooflineFigures& roofline) {
  const DeviceTiming& encode = timings.at("encode/" + point.name);
  const DeviceTiming& decode = timings.at("decode/" + point.name);
  try {
    for (const DeviceTiming* timing : {&encode, &decode})
      if (!timing->error.empty()) throw RunError(timing->error);
    point.subject->validate_last();  // the state in which the timing ended
  } catch (const std::exception& error) {
    return fail(point, error.what());
  }
  const double scale = 1e9 / static_cast<double>(tensor_.elements);
  const auto scaled = [scale](std::vector<double> seconds) {
    for (double& second : seconds) second *= scale;
    return seconds;
  };
  group().rows.push_back({.name = point.name,
                          .spec = point.spec,
                          .compressor = short_spec(point.spec),
                          .simd = device_->description.architecture,
                          .encode = scale * median(encode.device),
                          .decode = scale * median(decode.device),
                          .encode_wall = scale * median(encode.wall),
                          .encode_samples = scaled(encode.device),
                          .decode_samples = scaled(decode.device),
                          .encode_wall_samples = scaled(encode.wall),
                          .decode_wall_samples = scaled(decode.wall),
                          .encode_order = encode.order,
                          .decode_order = decode.order,
                          .t_r = roofline.t_r,
                          .quality = point.quality});
  for (const auto& [what, timing] : {std::pair("encode/", &encode), std::pair("decode/", &decode)})
    add_json({.name = what + point.name,
              .t_r = roofline.t_r,
              .counters = quality_counters(point.quality)},
             *timing);
}

void DeviceTensorBench::add_json(DeviceRowInfo info, const DeviceTiming& timing) {
  info.elements = tensor_.elements;
  info.family = families_++;
  for (benchmark::BenchmarkReporter::Run& row : device_rows(info, timing))
    rows_.push_back(std::move(row));
}

}  // namespace thinpipe
