#include "harness/bench/device_tensor_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/statistics.h"
#include "compressors/registry.h"
#include "compressors/simd.h"
#include "harness/bench/device_measure.h"
#include "harness/bench/inputs.h"
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

// A device's kernels read a payload by words (device/device_compressor.h).
constexpr std::size_t kSlack = 8;

// Twice the cache evicts every input before it is read again, whatever the replacement policy.
std::size_t inputs_needed(std::size_t cache, std::size_t elements) {
  const std::size_t bytes = std::max<std::size_t>(elements, 1) * sizeof(float);
  return std::max<std::size_t>(1, (2 * cache + bytes - 1) / bytes);
}

// Returns true for equal numbers, and for two NaNs.
bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// One GPU compressor on one tensor. encode() and decode() are timed; all else happens before and
/// after.
class DeviceSubject {
 public:
  /// The inputs must outlive it. @throws InputError, RunError as TimedDevice::make
  DeviceSubject(const TimedDevice& device, const Spec& spec, const CompressorSettings& settings,
                const DeviceInputs& inputs)
      : device_(device),
        spec_(spec),
        settings_(settings),
        inputs_(&inputs),
        on_device_(device.make(spec, {&inputs.tensor(), 1}, settings)),
        kept_on_device_(static_cast<std::byte*>(
            device.memory->allocate(on_device_->max_encoded_size(0) + kSlack))) {}

  /// Encodes `steps` steps on the device and on the CPU. Checks that both give the same payloads,
  /// byte for byte, and report the same counts. Returns the CPU compressor's quality in the second
  /// half of the steps. decode() then decodes the last payload, which device and CPU decode to the
  /// same bits.
  /// @throws ValidationError
  Quality warm_up(int steps) {
    make_cpu_compressor();
    const int settled = steps / 2;
    QualityMean quality;
    for (int i = 0; i < steps; ++i, ++step_) {
      encode_on_both();
      if (i < settled) continue;
      const GradientInput input{
          .values = gradient_, .squares = {}, .step = step_, .epoch = kAfterWarmUp};
      const auto payload = std::span(payload_).first(report_.encoded_bytes);
      quality.add(report_, inputs_->elements(), on_cpu_->distortion(input, payload));
    }
    kept_bytes_ = report_.encoded_bytes;
    device_.memory->upload(kept_on_device_, payload_.data(), kept_bytes_);
    compare_decoded();
    free_cpu_compressor();
    return quality.mean();
  }

  /// Encodes the next step, with the next input; waits for the device.
  void encode() {
    encode_on_device();
    ++step_;
  }
  /// Adds the last payload of warm_up() to the next output; waits for the device.
  void decode() {
    on_device_->decode_add(0, kept_on_device_, kept_bytes_, 1.0F, inputs_->output(decoded_));
    ++decoded_;
  }

  /// Checks the compressor's state: the CPU compressor resumes from it, and both encode a step to
  /// the same bytes. @throws ValidationError
  void validate_last() {
    std::vector<std::byte> state;
    on_device_->save_state(0, state);
    make_cpu_compressor();
    on_cpu_->load_state(state);
    encode_on_both();
    free_cpu_compressor();
    ++step_;
  }

 private:
  void make_cpu_compressor() {
    on_cpu_ = make_compressor(spec_, inputs_->tensor(), settings_);
    gradient_.resize(inputs_->elements());
    payload_.resize(on_cpu_->max_encoded_size());
  }
  void free_cpu_compressor() {
    on_cpu_.reset();
    gradient_ = {};
    payload_ = {};
  }
  EncodeReport encode_on_device() {
    const float* const gradient = inputs_->gradient(step_);
    on_device_->encode({&gradient, 1}, {.step = step_, .epoch = kAfterWarmUp});
    return on_device_->finish().front();
  }
  std::vector<std::byte> download_payload(std::size_t bytes) const {
    std::vector<std::byte> payload(bytes);
    device_.memory->download(payload.data(), on_device_->device_payload(0), bytes);
    device_.memory->wait();
    return payload;
  }
  void encode_on_both() {
    inputs_->values(step_, gradient_);
    const EncodeReport found = encode_on_device();
    report_ = on_cpu_->encode(
        {.values = gradient_, .squares = {}, .step = step_, .epoch = kAfterWarmUp}, payload_);
    const std::size_t bytes = report_.encoded_bytes;
    if (found.encoded_bytes != bytes || found.selected_elements != report_.selected_elements ||
        found.target_elements != report_.target_elements ||
        !same_number(found.threshold, report_.threshold))
      throw ValidationError(
          fmt::format("step {}: {} bytes with {} elements over {:.9g} on the GPU, but {} bytes "
                      "with {} over {:.9g} on the CPU",
                      step_, found.encoded_bytes, found.selected_elements, found.threshold, bytes,
                      report_.selected_elements, report_.threshold));
    const std::vector<std::byte> payload = download_payload(bytes);
    const auto differs = std::mismatch(payload.begin(), payload.end(), payload_.begin()).first;
    if (differs != payload.end())
      throw ValidationError(fmt::format(
          "step {}: the payload differs from the CPU implementation's, first in byte {} of {}",
          step_, differs - payload.begin(), bytes));
  }
  // Compares both decoders on the kept payload.
  void compare_decoded() {
    const std::size_t bytes = inputs_->elements() * sizeof(float);
    float* const output = inputs_->output(0);
    device_.memory->zero(output, bytes);
    on_device_->decode_add(0, kept_on_device_, kept_bytes_, 1.0F, output);
    std::vector<float> found(inputs_->elements()), expected(inputs_->elements(), 0.0F);
    device_.memory->download(found.data(), output, bytes);
    device_.memory->wait();
    on_cpu_->decode_add(std::span(payload_).first(kept_bytes_), 1.0F, expected);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (std::bit_cast<std::uint32_t>(expected[i]) != std::bit_cast<std::uint32_t>(found[i]))
        throw ValidationError(
            fmt::format("element {} is decoded to {} on the GPU, but to {} on the CPU", i, found[i],
                        expected[i]));
    }
  }

  TimedDevice device_;
  Spec spec_;
  CompressorSettings settings_;
  const DeviceInputs* inputs_;
  std::unique_ptr<DeviceCompressor> on_device_;
  std::unique_ptr<Compressor> on_cpu_;   ///< null while not in use: it may take gigabytes
  std::byte* kept_on_device_ = nullptr;  ///< device pointer to the payload that decode() decodes
  std::size_t kept_bytes_ = 0;
  std::size_t step_ = 0, decoded_ = 0;
  std::vector<float> gradient_;     ///< of the last step that both encoded
  std::vector<std::byte> payload_;  ///< buffer of the CPU compressor
  EncodeReport report_;             ///< of the CPU compressor
};

// Times all compressors on one tensor; each run times only as many as fit into the memory.
class DeviceTensorBench {
 public:
  DeviceTensorBench(const BenchOptions& options, OpenDevice open, TensorInfo tensor,
                    std::span<const float> values, Progress& progress, BenchResult& result,
                    std::vector<benchmark::BenchmarkReporter::Run>& rows)
      : options_(options),
        open_(std::move(open)),
        tensor_(std::move(tensor)),
        values_(values),
        progress_(progress),
        result_(result),
        rows_(rows),
        group_(result.groups.size()) {
    result.groups.push_back({.tensor = tensor_.name,
                             .elements = tensor_.elements,
                             .threads = 1,
                             .device = kDeviceCuda});
    this->open();
  }

  void run(const std::vector<Spec>& specs) {
    set_simd_target("best");  // of the CPU compressors
    for (const Spec& spec : specs) {
      if (interrupted()) throw RunError("interrupted");
      add(spec);
    }
    if (!batch_.empty() || group().roofline.read.empty()) time_batch();
    close();
  }

 private:
  struct Point {
    Spec spec;
    std::string name;  ///< "topk:ratio=0.01/laplace:26000000/memory/cuda"
    std::unique_ptr<DeviceSubject> subject;
    Quality quality;
  };

  void open() {
    device_ = open_();
    inputs_ = std::make_unique<DeviceInputs>(*device_, tensor_, values_, options_.residency);
    group().device_name = device_->description.name;
  }
  // Frees all memory.
  void close() {
    batch_.clear();
    inputs_.reset();
    device_.reset();
  }
  // Makes, warms up and validates the point's subject, which stays null if that fails. Returns
  // false if a second attempt may succeed after the memory of the batch's other compressors has
  // been freed.
  bool prepare(Point& point) {
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
  void add(const Spec& spec) {
    if (!device_) open();
    const auto fresh = [&] {
      return Point{.spec = spec,
                   .name = short_spec(spec) + "/" + place(),
                   .subject = nullptr,
                   .quality = {}};
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
  void time_batch() {
    read_ = copied_ = 0;
    device_->roofline->take_sum();
    std::vector<DeviceTimed> what = timed_roofline();
    for (const Point& point : batch_) {
      DeviceSubject& subject = *point.subject;
      what.push_back({.name = "encode/" + point.name,
                      .call = [&subject] { subject.encode(); },
                      .waits = true});
      what.push_back({.name = "decode/" + point.name,
                      .call = [&subject] { subject.decode(); },
                      .waits = true});
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
  // Reads use one input after the other, as the compressors do.
  std::vector<DeviceTimed> timed_roofline() {
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
  RooflineFigures figures(const DeviceTimings& timings) const {
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
  void add_row(Point& point, const DeviceTimings& timings, const RooflineFigures& roofline) {
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
    group().rows.push_back({.name = point.name,
                            .spec = point.spec,
                            .compressor = short_spec(point.spec),
                            .simd = device_->description.architecture,
                            .encode = scale * median(encode.device),
                            .decode = scale * median(decode.device),
                            .encode_wall = scale * median(encode.wall),
                            .encode_samples = scaled(encode.device, scale),
                            .decode_samples = scaled(decode.device, scale),
                            .encode_wall_samples = scaled(encode.wall, scale),
                            .decode_wall_samples = scaled(decode.wall, scale),
                            .encode_order = encode.order,
                            .decode_order = decode.order,
                            .t_r = roofline.t_r,
                            .quality = point.quality});
    for (const auto& [what, timing] :
         {std::pair("encode/", &encode), std::pair("decode/", &decode)})
      add_json({.name = what + point.name,
                .t_r = roofline.t_r,
                .counters = quality_counters(point.quality)},
               *timing);
  }
  void add_json(DeviceRowInfo info, const DeviceTiming& timing) {
    info.elements = tensor_.elements;
    info.family = families_++;
    for (benchmark::BenchmarkReporter::Run& row : device_rows(info, timing))
      rows_.push_back(std::move(row));
  }
  // Checks that every timed read has read every element: all inputs have the same sum of words.
  void check_reads() {
    const std::uint32_t expected = static_cast<std::uint32_t>(read_) * word_sum(values_);
    const std::uint32_t found = device_->roofline->take_sum();
    if (found != expected)
      throw ValidationError(
          fmt::format("reading {} elements on the GPU {} times gives a sum of words of {}, not {}",
                      tensor_.elements, read_, found, expected));
  }
  // Queries the clocks while the device works, because they are lower when it is idle.
  void note_device(double t_r) {
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
  std::string place() const {
    return fmt::format("{}:{}/{}/{}", tensor_.name, tensor_.elements, to_string(options_.residency),
                       kDeviceCuda);
  }
  BenchGroup& group() { return result_.groups[group_]; }
  void fail(const Point& point, const std::string& reason) {
    result_.failures.push_back({.name = point.name,
                                .spec = point.spec,
                                .simd = device_->description.architecture,
                                .group = group_,
                                .reason = reason});
  }

  const BenchOptions& options_;
  OpenDevice open_;
  TensorInfo tensor_;
  std::span<const float> values_;
  Progress& progress_;
  BenchResult& result_;
  std::vector<benchmark::BenchmarkReporter::Run>& rows_;
  std::size_t group_;
  std::optional<TimedDevice> device_;
  std::unique_ptr<DeviceInputs> inputs_;
  std::vector<Point> batch_;
  std::size_t read_ = 0, copied_ = 0;  ///< calls, each of which uses the next input
  std::size_t families_ = 0;           ///< subjects with rows in the JSON
};

}  // namespace

DeviceInputs::DeviceInputs(const TimedDevice& device, TensorInfo tensor,
                           std::span<const float> values, Residency residency)
    : tensor_(std::move(tensor)), values_(values) {
  const std::size_t count =
      residency == Residency::kCache ? 1 : inputs_needed(device.description.l2_bytes, elements());
  const std::size_t bytes = elements() * sizeof(float);
  gradients_.assign(count, nullptr);
  std::vector<float> turned(elements());
  for (std::size_t i = 0; i < count; ++i) {
    gradients_[i] = static_cast<float*>(device.memory->allocate(bytes));
    outputs_.push_back(static_cast<float*>(device.memory->allocate(bytes)));
    this->values(i, turned);
    device.memory->upload(gradients_[i], turned.data(), bytes);
    device.memory->wait();
  }
}

void DeviceInputs::values(std::size_t step, std::span<float> out) const {
  if (!values_.empty()) rotate_into(values_, step % rotation(), out);
}

void bench_on_device(const std::vector<Spec>& specs, const BenchOptions& options,
                     const OpenDevice& open, const TensorInfo& tensor,
                     std::span<const float> values, Progress& progress, BenchResult& result,
                     std::vector<benchmark::BenchmarkReporter::Run>& rows) {
  DeviceTensorBench(options, open, tensor, values, progress, result, rows).run(specs);
}

}  // namespace thinpipe
