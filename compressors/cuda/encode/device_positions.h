// Position codecs on the GPU.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "compressors/cuda/encode/device_decodes.h"
#include "compressors/cuda/encode/fixed_positions.h"
#include "compressors/cuda/encode/gap_codes.h"
#include "compressors/cuda/encode/packed_positions.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/laid_positions.h"
#include "compressors/cuda/kernels/sample.h"
#include "compressors/encode/position_codec.h"
#include "compressors/methods/selectors.h"

namespace thinpipe::cuda {

template <class Device>
class DevicePositions {
 public:
  virtual ~DevicePositions() = default;

  /// Returns the maximum number of positions in a payload of `bytes` bytes: one for each bit.
  virtual std::size_t most(std::size_t bytes) const { return 8 * bytes; }
  /// Sets the job fields that writing needs.
  virtual void prepare(Device& /*device*/, Job& /*job*/) const {}
  /// Launches the kernels that write the positions of all tensors.
  virtual void write(Device& device, const Batch& batch) const = 0;
  /// Plans the kernels that read the positions of a payload of the job's tensor.
  virtual void plan_read(const Job& own, DecodeJob& job, DecodePlan& plan) const = 0;
  /// Launches the kernels that read the positions of payloads into DecodeJob::positions.
  virtual void read(Device& device, const DecodeBatch& batch) const = 0;
};

/// raw32 and index28.
template <class Device, std::uint32_t bits>
class CodedFixed : public DevicePositions<Device> {
 public:
  std::size_t most(std::size_t bytes) const override { return 8 * bytes / bits; }
  void write(Device& device, const Batch& batch) const override {
    batch.launch_parts<WritePositions<FixedPositions<bits>>>(device);
  }
  void plan_read(const Job& own, DecodeJob& job, DecodePlan& plan) const override {
    const std::size_t elements = std::min<std::size_t>(own.n, most(job.payload.bytes));
    plan[DecodeGrid::kPositions] = tiles_of(static_cast<std::uint32_t>(elements), kTile);
  }
  void read(Device& device, const DecodeBatch& batch) const override {
    batch.launch(device, DecodeGrid::kPositions, ReadFixedPositions<bits>{});
  }
};

template <class Code, class Lay = LayPositions<Code>, class Device>
void write_laid(Device& device, const Batch& batch) {
  batch.launch_parts<ClearPositions<Code>>(device);
  batch.launch_tiles<Lay>(device);
}

template <class Device>
class CodedRun16 : public DevicePositions<Device> {
 public:
  std::size_t most(std::size_t bytes) const override { return bytes / sizeof(std::uint16_t); }
  void write(Device& device, const Batch& batch) const override {
    write_laid<Run16Positions>(device, batch);
  }
  void plan_read(const Job& /*own*/, DecodeJob& job, DecodePlan& plan) const override {
    plan_scan(job.payload.bytes / sizeof(std::uint16_t), plan);
  }
  void read(Device& device, const DecodeBatch& batch) const override {
    read_scanned<Run16Units>(device, batch);
  }
};

template <class Device>
class CodedBitmap : public DevicePositions<Device> {
 public:
  void write(Device& device, const Batch& batch) const override {
    write_laid<BitmapPositions>(device, batch);
  }
  void plan_read(const Job& own, DecodeJob& /*job*/, DecodePlan& plan) const override {
    plan_scan(own.n / 32, plan);
  }
  void read(Device& device, const DecodeBatch& batch) const override {
    read_scanned<BitmapUnits>(device, batch);
  }
};

/// Random-k's positions, which the receiver draws again.
template <class Device>
class CodedSeeded : public DevicePositions<Device> {
 public:
  std::size_t most(std::size_t /*bytes*/) const override { return 0xffffffff; }
  void write(Device& device, const Batch& batch) const override {
    batch.launch_parts<WritePositions<SeededTag>>(device);
  }
  void plan_read(const Job& own, DecodeJob& job, DecodePlan& plan) const override {
    job.drawn = own.drawn;
    job.seed = own.sample_seed;
    plan_scan(own.n / 32, plan);
  }
  void read(Device& device, const DecodeBatch& batch) const override {
    batch.launch(device, DecodeGrid::kEach, DrawForPayload{});
    read_scanned<BitmapUnits>(device, batch);
  }
};

/// Codes of variable length, each of which begins where the previous one ends (state_scan.h).
template <class Device, class Laid, class Stream>
class CodedStream : public DevicePositions<Device> {
 public:
  void write(Device& device, const Batch& batch) const override { write_laid<Laid>(device, batch); }
  void plan_read(const Job& /*own*/, DecodeJob& job, DecodePlan& plan) const override {
    plan_states<Stream>(job.payload, plan);
  }
  void read(Device& device, const DecodeBatch& batch) const override {
    batch.launch(device, DecodeGrid::kPositions, PassStates<Stream>{});
    batch.launch(device, DecodeGrid::kEach, JoinStates<Stream>{});
    batch.launch(device, DecodeGrid::kPositions, ReadStates<Stream>{});
  }
};

template <class Device, class Code>
using CodedElias = CodedStream<Device, EliasPositions<Code>, EliasStream<Code>>;

template <class Device>
class CodedPacked : public DevicePositions<Device> {
 public:
  /// A block whose gaps are all 0 takes one byte.
  std::size_t most(std::size_t bytes) const override { return kPackedBlock * bytes; }
  void write(Device& device, const Batch& batch) const override {
    write_laid<PackedPositions, LayPacked>(device, batch);
  }
  void plan_read(const Job& own, DecodeJob& job, DecodePlan& plan) const override {
    plan[DecodeGrid::kPositions] = PackedWorkspace::segments(job.payload);
    plan[DecodeGrid::kTiles] = tiles_of(own.n, kTile);
    plan.passed = PackedWorkspace::of_states(job.payload) + plan[DecodeGrid::kTiles];
    plan.begins = own.n / kPackedBlock + 1;
  }
  void read(Device& device, const DecodeBatch& batch) const override {
    batch.launch(device, DecodeGrid::kPositions, PassPacked{});
    batch.launch(device, DecodeGrid::kEach, JoinStates<PackedStream>{});
    batch.launch(device, DecodeGrid::kPositions, FindPacked{});
    batch.launch(device, DecodeGrid::kTiles, ScanPacked<false>{});
    batch.launch(device, DecodeGrid::kTiles, ScanPacked<true>{});
  }
};

template <class Device>
class CodedGolomb : public CodedStream<Device, GolombPositions, GolombStream> {
 public:
  void prepare(Device& device, Job& job) const override {
    // The parameter decreases as the count grows. Only the host computes the logarithms behind it.
    std::vector<std::uint32_t> densities(kMaxGolombBits + 2, 0);
    const auto parameter = [&](std::uint32_t count) {
      return golomb_bits(static_cast<double>(count) / static_cast<double>(job.n));
    };
    for (int bits = 1; bits <= kMaxGolombBits; ++bits) {
      std::uint32_t low = 0;  // the maximum count with this parameter
      for (std::uint32_t high = job.n; low < high;) {
        const std::uint32_t middle = low + (high - low + 1) / 2;
        if (parameter(middle) >= bits) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      densities[static_cast<std::size_t>(bits)] = low;
    }
    job.densities = uploaded(device, densities);
  }
};

/// Returns the chunk layout of a tensor of n elements.
inline ChunkLayout layout_of(const Chunks& chunks, std::size_t n) {
  return {.n = static_cast<std::uint32_t>(n),
          .bits = static_cast<std::uint32_t>(chunks.position_bits()),
          .k = static_cast<std::uint32_t>(chunks.k)};
}

/// Launches the kernels that read chunked positions; kPositions has one block for each kTile
/// selected elements.
void read_chunked(auto& device, const DecodeBatch& batch) {
  batch.launch(device, DecodeGrid::kEach, FindChunks{});
  batch.launch(device, DecodeGrid::kPositions, ReadChunked{});
}

/// Positions within chunks.
template <class Device>
class CodedChunked : public DevicePositions<Device> {
 public:
  explicit CodedChunked(const Chunks& chunks) : chunks_(chunks) {}

  std::size_t most(std::size_t bytes) const override {
    const auto bits = static_cast<std::size_t>(chunks_.position_bits());
    return bits == 0 ? 0xffffffff : 8 * bytes / bits;
  }
  void prepare(Device& /*device*/, Job& job) const override {
    job.chunks = layout_of(chunks_, job.n);
  }
  void write(Device& device, const Batch& batch) const override {
    write_laid<ChunkedPositions, LayChunked>(device, batch);
  }
  void plan_read(const Job& own, DecodeJob& job, DecodePlan& plan) const override {
    job.chunks = own.chunks;
    plan[DecodeGrid::kPositions] = tiles_of(own.chunks.selected(), kTile);
    plan.begins = own.chunks.chunks();
  }
  void read(Device& device, const DecodeBatch& batch) const override {
    read_chunked(device, batch);
  }

 private:
  Chunks chunks_;
};

/// Returns null for codecs without a GPU implementation.
/// @param chunks  for positions=chunked
template <class Device>
std::unique_ptr<DevicePositions<Device>> make_positions(const std::string& name,
                                                        const Chunks& chunks) {
  if (name == "raw32") return std::make_unique<CodedFixed<Device, 32>>();
  if (name == "index28") return std::make_unique<CodedFixed<Device, 28>>();
  if (name == "bitmap") return std::make_unique<CodedBitmap<Device>>();
  if (name == "run16") return std::make_unique<CodedRun16<Device>>();
  if (name == "golomb") return std::make_unique<CodedGolomb<Device>>();
  if (name == "packed") return std::make_unique<CodedPacked<Device>>();
  if (name == "elias_gamma") return std::make_unique<CodedElias<Device, GammaCode>>();
  if (name == "elias_delta") return std::make_unique<CodedElias<Device, DeltaCode>>();
  if (name == "chunked") return std::make_unique<CodedChunked<Device>>(chunks);
  if (name == "seeded") return std::make_unique<CodedSeeded<Device>>();
  return nullptr;
}

}  // namespace thinpipe::cuda
