// 1-bit SGD: a sign bit per element and two means per column of the matrix (methods/quantizers.h).
// A tensor of one column has two means for the whole tensor.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/signs.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/cuda/kernels/words.h"
#include "compressors/cuda/quantize/codes.h"
#include "compressors/cuda/quantize/device_quantizer.h"
#include "compressors/kernels/quantize.h"
#include "compressors/methods/quantizers.h"
#include "compressors/wire/scale.h"

namespace thinpipe::cuda {

/// Columns per tile in passes that add up rows.
constexpr std::uint32_t kColumnTile = 256;

/// Division of a matrix into tiles of columns and groups of rows.
struct ColumnTiles {
  std::uint32_t columns = 0;
  std::uint32_t rows = 0;

  THINPIPE_BOTH std::uint32_t across() const { return (columns - 1) / kColumnTile + 1; }
  /// Returns the groups of rows. A group's sums are floats; sums over groups are doubles.
  THINPIPE_BOTH std::uint32_t groups() const {
    return (rows - 1) / static_cast<std::uint32_t>(kColumnRows) + 1;
  }
};
THINPIPE_BOTH inline ColumnTiles column_tiles(const Job& job) {
  return {job.columns, job.n / job.columns};
}

/// Sets Job::lanes to the sums of every column in every group of rows, and updates the memory.
/// Grid: ColumnTiles::across() tiles per group.
struct AddColumns : OnTiles {
  static constexpr int kThreads = kColumnTile;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const ColumnTiles cut = column_tiles(job);
    const std::uint32_t group = tile.index / cut.across();
    constexpr auto kRows = static_cast<std::uint32_t>(kColumnRows);
    const std::uint32_t end = (group + 1) * kRows < cut.rows ? (group + 1) * kRows : cut.rows;
    block.each([&](int t) {
      const std::uint32_t column =
          tile.index % cut.across() * kColumnTile + static_cast<std::uint32_t>(t);
      if (column >= cut.columns) return;
      SignLane sums;
      for (std::uint32_t row = group * kRows; row < end; ++row)
        sums.add<SignScale::kMeans>(element<Reading::kSum>(job, row * cut.columns + column));
      job.lanes[group * cut.columns + column] = sums;
    });
  }
};

/// Writes the means, at the beginning of the payload. Grid: ColumnTiles::across() tiles.
struct FindColumnMeans : OnTiles {
  static constexpr int kThreads = kColumnTile;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const ColumnTiles cut = column_tiles(job);
    block.each([&](int t) {
      const std::uint32_t column = tile.index * kColumnTile + static_cast<std::uint32_t>(t);
      if (column >= cut.columns) return;
      SignedSums sums;
      for (std::uint32_t group = 0; group < cut.groups(); ++group) {
        const SignLane& lane = job.lanes[group * cut.columns + column];
        sums.positive += static_cast<double>(lane.above);
        sums.negative += static_cast<double>(lane.below);
        sums.negatives += lane.negatives;
      }
      const SignValues values = sign_values(SignScale::kMeans, sums, cut.rows);
      job.payload[column] = std::bit_cast<std::uint32_t>(values.positive);
      job.payload[cut.columns + column] = std::bit_cast<std::uint32_t>(values.negative);
    });
  }
};

/// Rows of 32 elements per warp.
constexpr int kSignThreads = 512;
using SignRows = WarpRows<std::uint32_t, kTile / kSignThreads>;

/// Writes the bits, after the means. Grid: the tiles of kTile elements.
struct EncodeColumns : OnTiles {
  static constexpr int kThreads = kSignThreads;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    typename Block::template Local<std::uint32_t> bits;
    typename Block::template Local<SignRows> rows;
    block.each([&](int t) {
      bits[t] = 0;
      for (unsigned j = 0; j < SignRows::kSize; ++j) {
        const std::uint32_t i = row_position(tile.index, t, j, SignRows::kSize);
        if (i >= job.n) break;
        const float c = element<Reading::kAsIs>(job, i);
        const std::uint32_t mean = i % job.columns + (c < 0 ? job.columns : 0);
        leave(job, i, c, std::bit_cast<float>(job.payload[mean]));
        bits[t] |= std::uint32_t{c < 0} << j;
      }
    });
    block.ballots(bits, rows);
    block.each([&](int t) {
      for (unsigned j = 0; j < SignRows::kSize; ++j) {
        const std::uint32_t i = row_position(tile.index, t, j, SignRows::kSize);
        if (i % 32 == 0 && i < job.n) job.payload[2 * job.columns + i / 32] = rows[t].words[j];
      }
      if (t != 0 || tile.index != 0) return;
      job.findings->encoded = 8 * job.columns + (job.n + 7) / 8;
      job.findings->counts[1] = job.n;
    });
  }
};

/// Computes out += factor * decoded for a payload whose length the host has checked. Reports
/// problem 1 for a mean that is not finite, 2 for padding bits that are not zero. Grid: the tiles
/// of kTile elements.
struct DecodeColumns {
  static constexpr int kThreads = kSignThreads;
  struct Shared {};

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/, const DecodeJob& job) const {
    const std::uint32_t* const payload = job.payload.words;
    const std::uint32_t n = job.payload.n;
    const std::uint32_t columns = job.columns;
    each_of_tile(block, block.index(), n, [&](std::uint32_t i) {
      // A single row has twice as many means as elements.
      for (std::uint64_t mean = i; mean < 2 * std::uint64_t{columns}; mean += n)
        if ((payload[mean] & 0x7fffffff) >= kInfinityBits) tell(block, job, 1);
      const std::uint32_t word = payload[2 * columns + i / 32];
      const bool negative = (word >> i % 32 & 1) != 0;
      const std::uint32_t mean = payload[i % columns + (negative ? columns : 0)];
      add_decoded(job, i, std::bit_cast<float>(mean));
      if (i + 1 == n && n % 8 != 0 && (word >> i % 32 / 8 * 8 & 0xff) >> n % 8 != 0)
        tell(block, job, 2);
    });
  }
};

template <class Device>
class ColumnQuantizer : public DeviceQuantizer<Device> {
 public:
  explicit ColumnQuantizer(const MakerInput& input)
      : columns_(input.by_tensor(
            [](const TensorInfo& one) { return columns_of(one.shape, one.elements); })) {}

  std::size_t max_encoded_size(std::size_t tensor, std::size_t elements) const override {
    if (columns_[tensor] < 2) return whole_.max_encoded_size(tensor, elements);
    return 2 * columns_[tensor] * sizeof(float) + (elements + 7) / 8;
  }
  void open(Device& device, std::size_t tensor, Job& job) override {
    const auto number = static_cast<std::uint32_t>(tensor);
    if (columns_[tensor] < 2) {
      vector_sums_.add(number, tiles_of(job.n, kSumTile));
      vectors_.add(number, tiles_of(job.n, kTile));
      return whole_.open(device, tensor, job);
    }
    job.columns = static_cast<std::uint32_t>(columns_[tensor]);
    const ColumnTiles cut = column_tiles(job);
    job.lanes = device_array<SignLane>(device, std::size_t{cut.groups()} * cut.columns);
    sums_.add(number, cut.groups() * cut.across());
    means_.add(number, cut.across());
    codes_.add(number, tiles_of(job.n, kTile));
  }
  void launch(Device& device, const Batch& batch) override {
    // Once, when all tensors are known.
    if (vectors_.on_device == nullptr)
      for (TileTable* const one : {&vector_sums_, &vectors_, &sums_, &means_, &codes_})
        one->upload(device);
    Batch vectors = batch;
    vectors.sum_tiles = vector_sums_.on_device;
    vectors.sum_tile_count = vector_sums_.count();
    vectors.tiles = vectors_.on_device;
    vectors.tile_count = vectors_.count();
    whole_.launch(device, vectors);
    device.launch(AddColumns{{batch.jobs, sums_.on_device}}, sums_.count());
    device.launch(FindColumnMeans{{batch.jobs, means_.on_device}}, means_.count());
    device.launch(EncodeColumns{{batch.jobs, codes_.on_device}}, codes_.count());
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
  std::vector<std::size_t> columns_;  ///< by tensor
  CodeQuantizer<Device, SignCode<SignScale::kMeans>> whole_{
      {}, 0, "a mean in the payload is not finite"};
  TileTable vector_sums_, vectors_;
  TileTable sums_, means_, codes_;  ///< of the matrices
};

}  // namespace thinpipe::cuda
