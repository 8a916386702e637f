// 1-bit SGD: a sign bit per element and two means per column of the matrix. A tensor of one column
// has two means for the whole tensor.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/kernels/columns.h"
#include "compressors/cuda/quantize/codes.h"
#include "compressors/cuda/quantize/device_quantizer.h"

namespace thinpipe::cuda {

template <class Device>
class ColumnQuantizer : public DeviceQuantizer<Device> {
 public:
  /// @param columns  of each tensor
  explicit ColumnQuantizer(std::vector<std::size_t> columns) : columns_(std::move(columns)) {}

  std::size_t max_encoded_size(std::size_t tensor, std::size_t elements) const override {
    if (columns_[tensor] < 2) return whole_.max_encoded_size(tensor, elements);
    return 2 * columns_[tensor] * sizeof(float) + (elements + 7) / 8;
  }
  void open(Device& device, std::size_t tensor, Job& job) override {
    const auto add_tiles = [&](std::vector<Tile>& tiles, std::uint32_t count) {
      for (std::uint32_t i = 0; i < count; ++i)
        tiles.push_back({static_cast<std::uint32_t>(tensor), i});
    };
    if (columns_[tensor] < 2) {
      add_tiles(vectors_.sums, tiles_of(job.n, kSumTile));
      add_tiles(vectors_.codes, tiles_of(job.n, kTile));
      return whole_.open(device, tensor, job);
    }
    job.columns = static_cast<std::uint32_t>(columns_[tensor]);
    const ColumnTiles cut = column_tiles(job);
    job.lanes = static_cast<SignLane*>(
        device.allocate(std::size_t{cut.groups()} * cut.columns * sizeof(SignLane)));
    add_tiles(matrices_.sums, cut.groups() * cut.across());
    add_tiles(matrices_.means, cut.across());
    add_tiles(matrices_.codes, tiles_of(job.n, kTile));
  }
  void launch(Device& device, const Batch& batch) override {
    for (Tiles* tiles : {&vectors_, &matrices_}) tiles->upload(device);
    Batch vectors = batch;
    vectors.sum_tiles = vectors_.device_sums;
    vectors.sum_tile_count = vectors_.sums.size();
    vectors.tiles = vectors_.device_codes;
    vectors.tile_count = vectors_.codes.size();
    whole_.launch(device, vectors);
    const Tiles& tiles = matrices_;
    device.launch(AddColumns{batch.jobs, tiles.device_sums}, tiles.sums.size());
    device.launch(FindColumnMeans{batch.jobs, tiles.device_means}, tiles.means.size());
    device.launch(EncodeColumns{batch.jobs, tiles.device_codes}, tiles.codes.size());
  }
  void plan_decode(Device& device, DecodeJob& job, DecodePlan& plan) override {
    if (columns_[job.tensor] < 2) return whole_.plan_decode(device, job, plan);
    job.columns = static_cast<std::uint32_t>(columns_[job.tensor]);
    plan[DecodeGrid::kParts] = tiles_of(job.payload.n, kTile);
  }
  void decode(Device& device, const DecodeBatch& batch) override {
    whole_.decode(device, batch);
    batch.launch(device, DecodeGrid::kParts, DecodeColumns{});
  }
  std::string problem(std::uint32_t number) const override { return whole_.problem(number); }

 private:
  /// Tiles on which kernels are launched.
  struct Tiles {
    std::vector<Tile> sums, means, codes;
    Tile* device_sums = nullptr;
    Tile* device_means = nullptr;
    Tile* device_codes = nullptr;

    /// Uploads the tiles once, when all tensors are known.
    void upload(Device& device) {
      if (device_sums != nullptr) return;
      device_sums = uploaded(device, sums);
      device_means = uploaded(device, means);
      device_codes = uploaded(device, codes);
    }
    static Tile* uploaded(Device& device, const std::vector<Tile>& tiles) {
      auto* const device_tiles = static_cast<Tile*>(device.allocate(tiles.size() * sizeof(Tile)));
      device.upload(device_tiles, tiles.data(), tiles.size() * sizeof(Tile));
      device.wait();
      return device_tiles;
    }
  };

  std::vector<std::size_t> columns_;
  CodeQuantizer<Device, SignCode<SignScale::kMeans>> whole_{
      {}, 0, "a mean in the payload is not finite"};
  Tiles vectors_;
  Tiles matrices_;
};

}  // namespace thinpipe::cuda
