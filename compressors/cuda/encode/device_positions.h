// How the positions of selected elements are written and read on a device.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "compressors/cuda/encode/fixed_positions.h"
#include "compressors/cuda/encode/golomb_positions.h"
#include "compressors/cuda/encode/laid_positions.h"
#include "compressors/cuda/encode/scanned_positions.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/draw.h"
#include "compressors/encode/golomb.h"

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

template <class Device>
class CodedGolomb : public DevicePositions<Device> {
 public:
  std::size_t most(std::size_t bytes) const override { return 8 * bytes; }
  void prepare(Device& device, Job& job) const override {
    // The parameter falls with the count; where, logarithms say that only the host takes.
    std::vector<std::uint32_t> densities(kGolombStates + 1, 0);
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
  void write(Device& device, const Batch& batch) const override {
    write_laid<Device, GolombPositions>(device, batch);
  }
  std::size_t passed(const PayloadView& payload) const override {
    return (kGolombStretches + 1) * kGolombStates * blocks(payload);
  }
  void read(Device& device, const PayloadView& payload, const Job& /*job*/,
            const ScanRoom& room) const override {
    device.launch(PassGolomb{payload, room}, blocks(payload));
    device.launch(JoinGolomb{payload, room}, 1);
    device.launch(ReadGolomb{payload, room}, blocks(payload));
  }

 private:
  static std::size_t blocks(const PayloadView& payload) {
    return std::size_t{8} * payload.bytes / (kGolombBits * kGolombStretches) + 1;
  }
};

/// Null for a codec that is not there yet.
template <class Device>
std::unique_ptr<DevicePositions<Device>> make_positions(const std::string& name) {
  if (name == "raw32") return std::make_unique<CodedFixed<Device, 32>>();
  if (name == "index28") return std::make_unique<CodedFixed<Device, 28>>();
  if (name == "bitmap") return std::make_unique<CodedBitmap<Device>>();
  if (name == "run16") return std::make_unique<CodedRun16<Device>>();
  if (name == "golomb") return std::make_unique<CodedGolomb<Device>>();
  if (name == "seeded") return std::make_unique<CodedSeeded<Device>>();
  return nullptr;
}

}  // namespace thinpipe::cuda
