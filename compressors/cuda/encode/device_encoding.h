// Encodes values and positions to a payload on the GPU, and decodes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "compressors/cuda/device/makers.h"
#include "compressors/cuda/encode/device_decodes.h"
#include "compressors/cuda/encode/device_positions.h"
#include "compressors/cuda/encode/value_codes.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/payload.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/encode/position_codec.h"
#include "compressors/encode/value_codec.h"
#include "compressors/methods/selectors.h"

namespace thinpipe::cuda {

/// Sets Job::levels to the levels of the sent elements. Grid: the tiles of kTile elements.
struct MeasureInt2 : OnTiles {
  static constexpr int kThreads = 512;
  static constexpr std::uint32_t kLanes = kInt2Lanes;
  static constexpr std::uint32_t kGroups = kTile / kInt2Group;  ///< of a tile
  static_assert(kGroups * kLanes == kThreads);
  struct Shared {
    double sums[kThreads];
    Int2Sum low[kThreads];
    Int2Sum high[kThreads];
    double means[kGroups];
  };

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const std::uint32_t count = job.findings->counts[job.sent];
    const std::uint32_t begin = tile.index * kTile;
    if (begin >= count) return;
    const float* const values = job.chosen.values;
    // Each thread is one lane of a group.
    const auto each_value = [&](int t, auto body) {
      const auto thread = static_cast<std::uint32_t>(t);
      const std::uint32_t first = begin + thread / kLanes * kInt2Group;
      for (std::uint32_t i = thread % kLanes; i < kInt2Group && first + i < count; i += kLanes)
        body(int2_magnitude(values[first + i]));
    };
    block.each([&](int t) {
      double sum = 0;
      each_value(t, [&](double magnitude) { sum += magnitude; });
      shared.sums[t] = sum;
    });
    const auto size_of = [&](std::uint32_t group) {
      const std::uint32_t first = begin + group * kInt2Group;
      if (first >= count) return 0U;
      return count - first < kInt2Group ? count - first : static_cast<std::uint32_t>(kInt2Group);
    };
    each_of(block, kGroups, [&](std::uint32_t group) {
      if (size_of(group) == 0) return;
      double sum = 0;
      for (std::uint32_t i = 0; i < kLanes; ++i) sum += shared.sums[group * kLanes + i];
      shared.means[group] = sum / static_cast<double>(size_of(group));
    });
    block.each([&](int t) {
      const double mean = shared.means[static_cast<std::uint32_t>(t) / kLanes];
      Int2Sum low;
      Int2Sum high;
      each_value(t, [&](double magnitude) {
        if (magnitude < mean) {
          low.add({magnitude, 1});
        } else {
          high.add({magnitude, 1});
        }
      });
      shared.low[t] = low;
      shared.high[t] = high;
    });
    each_of(block, kGroups, [&](std::uint32_t group) {
      if (size_of(group) == 0) return;
      Int2Sum low;
      Int2Sum high;
      for (std::uint32_t i = group * kLanes; i < (group + 1) * kLanes; ++i) {
        low.add(shared.low[i]);
        high.add(shared.high[i]);
      }
      job.levels[begin / kInt2Group + group] = {shared.means[group], low.mean(), high.mean()};
    });
  }
};

/// out += factor * decoded.
struct AddAtPosition {
  THINPIPE_KERNEL static void take(const DecodeJob& job, std::uint32_t i, float value) {
    add_decoded(job, job.positions[i], value);
  }
};

/// Stores the decoded values.
struct KeepValue {
  THINPIPE_KERNEL static void take(const DecodeJob& job, std::uint32_t i, float value) {
    job.values[i] = value;
  }
};

/// Reads the values that belong to positions, which ascend and are less than n. Does nothing if an
/// earlier kernel found a problem in the payload. Reports a problem for values that no compressor
/// writes. Grid: the maximum number of tiles of kTile elements in the payload.
template <class Code, class Taken>
struct ReadValues {
  static constexpr int kThreads = 512;
  struct Shared {};

  Code code;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/, const DecodeJob& job) const {
    const PayloadView& payload = job.payload;
    const PayloadParts parts = payload.open();
    const bool usable = *job.problem == 0 && parts.count > 0;
    block.each([&](int t) {
      if (!usable) return;
      bool good = code.good(payload, parts.values);
      each_in_tile<kThreads>(t, block.index(), parts.count, [&](std::uint32_t i) {
        if (good) Taken::take(job, i, code.read(payload, parts.values, i, good));
      });
      if (!good) tell(block, job, PayloadProblem::kValue);
    });
  }
};

/// Writes the values of the sent elements, and subtracts the decoded values from the memory. Runs
/// after the positions have been written. Leaves the prefix states empty. Grid: the parts.
template <class Code>
struct WriteValues : OnParts {
  static constexpr int kThreads = 512;

  Code code;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const Part tile = parts[block.index()];
    const Job job = jobs[tile.job];
    const PayloadCount head{job.findings->counts[job.sent]};
    const Chosen chosen = job.chosen;
    const std::uint32_t begin = head.bytes();
    const std::uint32_t end = begin + job.values.bytes(head.count);
    const std::uint32_t words = (job.values.bytes(head.count) + 3) / 4;
    const auto word = [&](std::uint32_t i) {
      return i < words ? code.word(job, chosen.values, head.count, i) : 0;
    };
    const std::uint32_t stride = job.parts * kThreads;
    block.each([&](int t) {
      const std::uint32_t first = tile.index * kThreads + static_cast<std::uint32_t>(t);
      for (std::uint32_t i = first; i < tiles_of(head.count, kTile); i += stride)
        job.states[0][i] = 0;
      // A count of four or five bytes fills a word.
      if (first == 0 && begin >= 4) job.payload[0] = static_cast<std::uint32_t>(head.code());
      for (std::uint32_t i = first; 4 * (begin / 4 + i) < end; i += stride) {
        const std::uint32_t at = begin / 4 + i;
        const std::uint32_t made = joined(i == 0 ? head.end() : word(i - 1), word(i), begin);
        // The positions begin in the last word.
        job.payload[at] = at == end / 4 ? job.payload[at] | made : made;
      }
      for (std::uint32_t i = first; i < head.count; i += stride) {
        const std::uint32_t position = chosen.positions[i];
        const float decoded = code.decoded(job, i, chosen.values[i]);
        if (job.decoded != nullptr) job.decoded[i] = decoded;
        take_off(job, position, decoded);
        if (job.v != nullptr)
          job.v[position] = job.corrected == nullptr ? 0 : job.corrected[position];
      }
    });
  }
};

template <class Device>
class DeviceValues {
 public:
  virtual ~DeviceValues() = default;

  virtual ValueSize size() const = 0;
  /// Returns whether measure() makes another choice, which drops values that are not sent.
  virtual bool drops() const = 0;
  /// Allocates workspace for a tensor of which at most `most` elements are sent.
  virtual void prepare(Device& /*device*/, std::size_t /*most*/, Job& /*job*/) const {}
  /// Launches the kernels that compute statistics of all values.
  virtual void measure(Device& device, const Batch& batch) const = 0;
  /// Launches the kernel that writes the count and the values to the payload and subtracts the
  /// decoded values from the memory. The positions must have been written before.
  virtual void write(Device& device, const Batch& batch) const = 0;
  /// Launches the kernel that adds the decoded values to the output, at the positions that an
  /// earlier kernel has read. The grid kElements must have one block for every kTile elements that
  /// the payload can hold.
  virtual void add(Device& device, const DecodeBatch& batch) const = 0;
  /// Launches the kernel that reads the values into DecodeJob::values.
  virtual void read(Device& device, const DecodeBatch& batch) const = 0;
};

template <class Device, class Code>
class CodedValues : public DeviceValues<Device> {
 public:
  explicit CodedValues(Code code) : code_(code) {}

  ValueSize size() const override { return Code::size(); }
  bool drops() const override { return std::is_same_v<Code, Exp4Values>; }
  void prepare(Device& device, std::size_t most, Job& job) const override {
    if constexpr (std::is_same_v<Code, Int2Values>)
      job.levels = device_array<Int2Levels>(device, (most + kInt2Group - 1) / kInt2Group);
  }
  void measure(Device& device, const Batch& batch) const override {
    if constexpr (std::is_same_v<Code, Int2Values>) batch.launch_tiles<MeasureInt2>(device);
    if constexpr (!std::is_same_v<typename Code::Measure, NoMeasure>)
      batch.launch_sum_tiles<MeasureValues<typename Code::Measure>>(device);
    if constexpr (std::is_same_v<Code, Exp4Values>)
      choose_elements<Reading::kChosen, Exp4Admitted>(device, batch, kLastChoice);
  }
  void write(Device& device, const Batch& batch) const override {
    batch.launch_parts<WriteValues<Code>>(device, code_);
  }
  void add(Device& device, const DecodeBatch& batch) const override {
    batch.launch(device, DecodeGrid::kElements, ReadValues<Code, AddAtPosition>{code_});
  }
  void read(Device& device, const DecodeBatch& batch) const override {
    batch.launch(device, DecodeGrid::kElements, ReadValues<Code, KeepValue>{code_});
  }

 private:
  Code code_;
};

/// Returns null for codecs without a GPU implementation. @param tau  for values=tau
template <class Device>
std::unique_ptr<DeviceValues<Device>> make_values(const std::string& name, float tau) {
  const auto coded = [](auto code) {
    return std::make_unique<CodedValues<Device, decltype(code)>>(code);
  };
  if (name == "fp32") return coded(Fp32Values{});
  if (name == "fp16") return coded(HalfValues{{}, HalfFormat::kFp16});
  if (name == "bf16") return coded(HalfValues{{}, HalfFormat::kBf16});
  if (name == "int8") return coded(Int8Values{});
  if (name == "int2") return coded(Int2Values{});
  if (name == "sign") return coded(SignedMeans{});
  if (name == "mean") return coded(MeanValues{});
  if (name == "exp4") return coded(Exp4Values{});
  if (name == "tau") return coded(TauValues{{}, tau});
  return nullptr;
}

// Values and positions together.

template <class Device>
struct DeviceEncoding {
  std::unique_ptr<DeviceValues<Device>> values;
  std::unique_ptr<DevicePositions<Device>> positions;
  /// The CPU implementations, for upper bounds of payload sizes.
  std::unique_ptr<ValueCodec> value_codec;
  std::unique_ptr<PositionCodec> position_codec;

  std::size_t max_size(std::size_t most, std::size_t elements) const {
    return varint_size(most) + value_codec->size(most) + position_codec->max_size(most, elements);
  }
  /// Launches the kernels that write the payloads of the chosen elements.
  void write(Device& device, const Batch& batch) const {
    values->measure(device, batch);
    positions->write(device, batch);
    values->write(device, batch);
  }
  /// Plans the kernels that read a payload.
  void plan_read(const Job& own, DecodeJob& job, DecodePlan& plan) const {
    const PayloadView& payload = job.payload;
    const std::size_t bits = values->size().bits;
    const std::size_t of_values = bits == 0 ? payload.n : 8 * std::size_t{payload.bytes} / bits;
    // Upper bound of the payload's elements.
    const std::size_t most =
        std::min({of_values, positions->most(payload.bytes), std::size_t{payload.n}});
    plan[DecodeGrid::kElements] = tiles_of(static_cast<std::uint32_t>(most), kTile);
    positions->plan_read(own, job, plan);
  }
  /// Launches the kernels that read positions and add the values at them.
  void read(Device& device, const DecodeBatch& batch) const {
    positions->read(device, batch);
    values->add(device, batch);
  }
};

/// @param max_selected  returns the most positions that are sent of so many elements
/// @throws InputError for codecs without a GPU implementation, and for tensors too large for the
/// codec
template <class Device>
DeviceEncoding<Device> make_encoding(const Parameters& parameters,
                                     std::span<const TensorInfo> tensors,
                                     const auto& max_selected) {
  const std::string& values = parameters.choice("values");
  const std::string& positions = parameters.choice("positions");
  const bool steps = values == "tau";
  const float tau = steps ? static_cast<float>(parameters.real("tau")) : 0;
  const bool chunked = positions == "chunked";
  const Chunks chunks = chunked ? chunks_of(parameters) : Chunks{};
  DeviceEncoding<Device> encoding{.values = make_values<Device>(values, tau),
                                  .positions = make_positions<Device>(positions, chunks),
                                  .value_codec = {},
                                  .position_codec = {}};
  if (!encoding.values) refuse(parameters, "values=" + values + " has no GPU implementation");
  if (!encoding.positions)
    refuse(parameters, "positions=" + positions + " has no GPU implementation");
  encoding.value_codec = steps ? make_tau_codec(tau) : make_value_codec(values);
  // Only the size of seeded positions is used, which is the same for all tensors.
  encoding.position_codec = positions == "seeded"
                                ? make_seeded_codec(std::make_shared<SeededPositions>(0, 0))
                            : chunked ? make_chunked_codec(chunks)
                                      : make_position_codec(positions);
  for (const TensorInfo& tensor : tensors) {
    // The bits of a payload's positions, like elements, are counted in 31 bits (kernels/prefix.h).
    const bool chained = positions == "run16" || positions == "golomb" || positions == "packed" ||
                         positions == "elias_gamma" || positions == "elias_delta";
    constexpr std::size_t kMaxBits = 0x7fffffff;
    const std::size_t most =
        encoding.position_codec->max_size(max_selected(tensor.elements), tensor.elements);
    if (chained && most > kMaxBits / 8) {
      refuse(parameters, "tensor '" + tensor.name + "' has " + std::to_string(tensor.elements) +
                             " elements, too many for positions=" + positions);
    }
  }
  return encoding;
}

}  // namespace thinpipe::cuda
