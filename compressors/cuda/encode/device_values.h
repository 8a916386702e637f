// Value codecs on the GPU.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "compressors/cuda/encode/device_decodes.h"
#include "compressors/cuda/encode/int2_values.h"
#include "compressors/cuda/encode/read_values.h"
#include "compressors/cuda/encode/value_codes.h"
#include "compressors/cuda/encode/write_values.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/choose.h"

namespace thinpipe::cuda {

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
    if constexpr (std::is_same_v<Code, Int2Values>) {
      const std::size_t groups = (most + kInt2Group - 1) / kInt2Group;
      job.levels = static_cast<Int2Levels*>(device.allocate(groups * sizeof(Int2Levels)));
    }
  }
  void measure(Device& device, const Batch& batch) const override {
    if constexpr (std::is_same_v<Code, Int2Values>)
      device.launch(MeasureInt2{batch.jobs, batch.tiles}, batch.tile_count);
    if constexpr (!std::is_same_v<typename Code::Measure, NoMeasure>) {
      device.launch(MeasureValues<typename Code::Measure>{batch.jobs, batch.sum_tiles},
                    batch.sum_tile_count);
    }
    if constexpr (std::is_same_v<Code, Exp4Values>) {
      choose_elements<Reading::kChosen, Exp4Admitted>(device, batch, kLastChoice);
    }
  }
  void write(Device& device, const Batch& batch) const override {
    device.launch(WriteValues<Code>{batch.jobs, batch.parts, code_}, batch.part_count);
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
  if (name == "fp16") return coded(HalfValues{HalfFormat::kFp16});
  if (name == "bf16") return coded(HalfValues{HalfFormat::kBf16});
  if (name == "int8") return coded(Int8Values{});
  if (name == "int2") return coded(Int2Values{});
  if (name == "sign") return coded(SignedMeans{});
  if (name == "mean") return coded(MeanValues{});
  if (name == "exp4") return coded(Exp4Values{});
  if (name == "tau") return coded(TauValues{tau});
  return nullptr;
}

}  // namespace thinpipe::cuda
