// Value codecs on the GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "compressors/cuda/encode/device_decodes.h"
#include "compressors/cuda/encode/value_codes.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/payload.h"
#include "compressors/cuda/kernels/source.h"

namespace thinpipe::cuda {

/// out += factor * decoded.
struct AddAtPosition {
  THINPIPE_KERNEL static void take(const DecodeJob& job, std::uint32_t i, float value) {
    const float term = job.factor * value;
    float& to = job.out[job.positions[i]];
    to = to + term;
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

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const DecodeJob& job) const {
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

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
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

}  // namespace thinpipe::cuda
