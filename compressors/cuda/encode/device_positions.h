// How the positions of selected elements are written and read on a device.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "compressors/cuda/encode/chunked_positions.h"
#include "compressors/cuda/encode/elias_positions.h"
#include "compressors/cuda/encode/fixed_positions.h"
#include "compressors/cuda/encode/golomb_positions.h"
#include "compressors/cuda/encode/laid_positions.h"
#include "compressors/cuda/encode/packed_positions.h"
#include "compressors/cuda/encode/scanned_positions.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/draw.h"
#include "compressors/encode/golomb.h"
#include "compressors/select/chunked_top_k.h"

namespace thinpipe::cuda {

template <class Device>
class DevicePositions {
 public:
  virtual ~DevicePositions() = default;

  /// Positions of one element in a payload of so many bytes, at most.
  virtual std::size_t most(std::size_t bytes) const = 0;
  /// What writing needs to know of a tensor.
  virtual void prepare(Device& /*device*/, Job& /*job*/) const {}
  /// Writes the positions of all tensors.
  virtual void write(Device& device, const Batch& batch) const = 0;
  /// What room.passed must have room for.
  virtual std::size_t passed(const PayloadView& /*payload*/) const { return 0; }
  /// Reads the positions of a payload into room.positions.
  virtual void read(Device& device, const PayloadView& payload, const Job& job,
                    const ScanRoom& room) const = 0;
};

/// raw32 and index28.
template <class Device, std::uint32_t bits>
class CodedFixed : public DevicePositions<Device> {
 public:
  std::size_t most(std::size_t bytes) const override { return 8 * bytes / bits; }
  void write(Device& device, const Batch& batch) const override {
    device.launch(WritePositions<FixedPositions<bits>>{batch.jobs, batch.tiles}, batch.tile_count);
  }
  void read(Device& device, const PayloadView& payload, const Job& /*job*/,
            const ScanRoom& room) const override {
    const auto elements =
        static_cast<std::uint32_t>(std::min<std::size_t>(payload.n, most(payload.bytes)));
    device.launch(ReadFixedPositions<bits>{payload, room.positions, room.problem},
                  tiles_of(elements, kTile));
  }
};

template <class Device, class Code>
void write_laid(Device& device, const Batch& batch) {
  device.launch(ClearPositions<Code>{batch.jobs, batch.tiles}, batch.tile_count);
  device.launch(LayPositions<Code>{batch.jobs, batch.tiles}, batch.tile_count);
}

template <class Device, class Units>
void read_scanned(Device& device, const PayloadView& payload, const ScanRoom& room, Units units,
                  std::size_t stretches) {
  device.launch(PassPositions<Units>{payload, room, units}, stretches);
  device.launch(ReadPositions<Units>{payload, room, units}, stretches);
}

template <class Device>
class CodedRun16 : public DevicePositions<Device> {
 public:
  std::size_t most(std::size_t bytes) const override { return bytes / sizeof(std::uint16_t); }
  void write(Device& device, const Batch& batch) const override {
    write_laid<Device, Run16Positions>(device, batch);
  }
  std::size_t passed(const PayloadView& payload) const override {
    return payload.bytes / sizeof(std::uint16_t) / kScanUnits + 1;
  }
  void read(Device& device, const PayloadView& payload, const Job& /*job*/,
            const ScanRoom& room) const override {
    read_scanned(device, payload, room, Run16Units{}, passed(payload));
  }
};

template <class Device>
class CodedBitmap : public DevicePositions<Device> {
 public:
  std::size_t most(std::size_t bytes) const override { return 8 * bytes; }
  void write(Device& device, const Batch& batch) const override {
    write_laid<Device, BitmapPositions>(device, batch);
  }
  std::size_t passed(const PayloadView& payload) const override {
    return payload.n / 32 / kScanUnits + 1;
  }
  void read(Device& device, const PayloadView& payload, const Job& /*job*/,
            const ScanRoom& room) const override {
    read_scanned(device, payload, room, BitmapUnits{nullptr}, passed(payload));
  }
};

/// Random-k's: drawn anew.
template <class Device>
class CodedSeeded : public DevicePositions<Device> {
 public:
  std::size_t most(std::size_t /*bytes*/) const override { return 0xffffffff; }
  void write(Device& device, const Batch& batch) const override {
    device.launch(WritePositions<SeededTag>{batch.jobs, batch.tiles}, batch.tile_count);
  }
  std::size_t passed(const PayloadView& payload) const override {
    return payload.n / 32 / kScanUnits + 1;
  }
  void read(Device& device, const PayloadView& payload, const Job& job,
            const ScanRoom& room) const override {
    device.launch(DrawForPayload{payload, job.drawn, job.sample_seed}, 1);
    read_scanned(device, payload, room, BitmapUnits{job.drawn}, passed(payload));
  }
};

/// Codes that begin where the one before ends (state_scan.h).
template <class Device, class Laid, class Stream>
class CodedStream : public DevicePositions<Device> {
 public:
  std::size_t most(std::size_t bytes) const override { return 8 * bytes; }
  void write(Device& device, const Batch& batch) const override {
    write_laid<Device, Laid>(device, batch);
  }
  std::size_t passed(const PayloadView& payload) const override {
    return StateRoom<Stream>::entries(blocks(payload));
  }
  void read(Device& device, const PayloadView& payload, const Job& /*job*/,
            const ScanRoom& room) const override {
    device.launch(PassStates<Stream>{payload, room}, blocks(payload));
    device.launch(JoinStates<Stream>{payload, room}, 1);
    device.launch(ReadStates<Stream>{payload, room}, blocks(payload));
  }

 private:
  static std::size_t blocks(const PayloadView& payload) {
    return std::size_t{8} * payload.bytes / (Stream::kBits * Stream::kStretches) + 1;
  }
};

template <class Device, class Code>
using CodedElias = CodedStream<Device, EliasPositions<Code>, EliasStream<Code>>;

template <class Device>
class CodedPacked : public DevicePositions<Device> {
 public:
  /// A block whose gaps are all 0 is a byte.
  std::size_t most(std::size_t bytes) const override { return kPackedBlock * bytes; }
  void write(Device& device, const Batch& batch) const override {
    device.launch(ClearPositions<PackedPositions>{batch.jobs, batch.tiles}, batch.tile_count);
    device.launch(LayPacked{batch.jobs, batch.tiles}, batch.tile_count);
  }
  std::size_t passed(const PayloadView& payload) const override {
    const std::size_t begins = payload.n / kPackedBlock + 1;
    return of_states(payload) + tiles(payload) +
           (begins * sizeof(std::uint32_t) + sizeof(Passed) - 1) / sizeof(Passed);
  }
  void read(Device& device, const PayloadView& payload, const Job& /*job*/,
            const ScanRoom& room) const override {
    Passed* const of_tiles = room.passed + of_states(payload);
    const PackedRoom all{.scan = room,
                         .tiles = of_tiles,
                         .begins = reinterpret_cast<std::uint32_t*>(of_tiles + tiles(payload))};
    device.launch(PassStates<PackedStream>{payload, room}, stretches(payload));
    device.launch(JoinStates<PackedStream>{payload, room}, 1);
    device.launch(FindPacked{payload, all}, stretches(payload));
    device.launch(ScanPacked<false>{payload, all}, tiles(payload));
    device.launch(ScanPacked<true>{payload, all}, tiles(payload));
  }

 private:
  static std::size_t stretches(const PayloadView& payload) {
    return payload.bytes / PackedStream::kBytes + 1;
  }
  static std::size_t of_states(const PayloadView& payload) {
    return StateRoom<PackedStream>::entries(stretches(payload));
  }
  static std::size_t tiles(const PayloadView& payload) { return tiles_of(payload.n, kTile); }
};

template <class Device>
class CodedGolomb : public CodedStream<Device, GolombPositions, GolombStream> {
 public:
  void prepare(Device& device, Job& job) const override {
    // The parameter falls with the count; where, logarithms say that only the host takes.
    std::vector<std::uint32_t> densities(kMaxGolombBits + 2, 0);
    const auto parameter = [&](std::uint32_t count) {
      return golomb_bits(static_cast<double>(count) / static_cast<double>(job.n));
    };
    for (int bits = 1; bits <= kMaxGolombBits; ++bits) {
      std::uint32_t low = 0;  // so many have it, where there are any
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
    auto* const there =
        static_cast<std::uint32_t*>(device.allocate(densities.size() * sizeof(std::uint32_t)));
    device.upload(there, densities.data(), densities.size() * sizeof(std::uint32_t));
    device.wait();
    job.densities = there;
  }
};

/// Of a tensor of n elements.
inline ChunkLayout layout_of(const Chunks& chunks, std::size_t n) {
  return {.n = static_cast<std::uint32_t>(n),
          .bits = static_cast<std::uint32_t>(chunks.position_bits()),
          .k = static_cast<std::uint32_t>(chunks.k)};
}

/// @param begins  room for a number a chunk
template <class Device>
void read_chunked(Device& device, const PayloadView& payload, const ChunkLayout& layout,
                  std::uint32_t* begins, const ScanRoom& room) {
  device.launch(FindChunks{payload, layout, begins, room.problem}, 1);
  device.launch(ReadChunked{payload, layout, begins, room.positions, room.problem},
                tiles_of(layout.selected(), kTile));
}

/// Of a selection chunk by chunk.
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
    device.launch(ClearPositions<ChunkedPositions>{batch.jobs, batch.tiles}, batch.tile_count);
    device.launch(LayChunked{batch.jobs, batch.tiles}, batch.tile_count);
  }
  std::size_t passed(const PayloadView& payload) const override {
    constexpr std::size_t kEach = sizeof(Passed) / sizeof(std::uint32_t);
    return layout_of(chunks_, payload.n).chunks() / kEach + 1;
  }
  void read(Device& device, const PayloadView& payload, const Job& /*job*/,
            const ScanRoom& room) const override {
    read_chunked(device, payload, layout_of(chunks_, payload.n),
                 reinterpret_cast<std::uint32_t*>(room.passed), room);
  }

 private:
  Chunks chunks_;
};

/// Null for a codec that is not there yet. @param chunks  of positions=chunked
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
