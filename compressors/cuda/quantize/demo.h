// DeMo: the largest cosine coefficients of every chunk, in a sparse payload (methods/demo.cc). Two
// passes over a tensor transform it to the coefficients of its chunks, and back from those that are
// sent. A thread block holds whole chunks.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/both.h"
#include "compressors/cuda/encode/device_encoding.h"
#include "compressors/cuda/kernels/choose_of_chunks.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/cuda/quantize/device_quantizer.h"
#include "compressors/kernels/transforms.h"
#include "compressors/methods/quantizers.h"

namespace thinpipe::cuda {

// The discrete cosine transform of many short lines by one thread block, bit for bit that of
// compressors/kernels/dct.cc.

/// Division of kTile numbers into lines of 2^bits elements, with a stride of 2^apart. For rows,
/// apart is 0; for the columns of a matrix, 2^apart is the number of columns.
struct DctLines {
  std::uint32_t bits = 0;
  std::uint32_t apart = 0;
  float first = 1;   ///< sqrt(1/n)
  float others = 1;  ///< sqrt(2/n)

  /// Returns the index of element i of a line.
  THINPIPE_BOTH std::uint32_t index(std::uint32_t line, std::uint32_t i) const {
    return (line >> apart << (apart + bits)) + (line & ((std::uint32_t{1} << apart) - 1)) +
           (i << apart);
  }
  /// Returns the weight of the coefficient at index `at`.
  THINPIPE_BOTH float weight(std::uint32_t at) const {
    return (at >> apart & ((std::uint32_t{1} << bits) - 1)) == 0 ? first : others;
  }
  /// Calls body(line, i) for thread t's elements, out of all i < 2^some of all lines.
  THINPIPE_KERNEL void each(int t, int threads, std::uint32_t some, auto body) const {
    const std::uint32_t lines = kTile >> bits;
    for (auto at = static_cast<std::uint32_t>(t); at < lines << some;
         at += static_cast<std::uint32_t>(threads)) {
      // Consecutive threads read consecutive addresses: within a line, or of adjacent lines.
      if (apart == 0) {
        body(at >> some, at & ((std::uint32_t{1} << some) - 1));
      } else {
        body(at % lines, at / lines);
      }
    }
  }
};

/// Transforms the lines of x. All threads of a block take part.
/// @param other  workspace of the same size
/// @returns x or other, whichever holds the result
template <class Block>
THINPIPE_KERNEL float* dct(Block& block, const DctLines& lines, const float* cosines, float* x,
                           float* other) {
  if (lines.bits == 0) return x;
  // The lower of two mirrored elements becomes their sum, the upper one their difference.
  for (std::uint32_t level = lines.bits; level > 0; --level) {
    const std::uint32_t half = std::uint32_t{1} << (level - 1);
    block.each([&](int t) {
      lines.each(t, Block::kSize, level - 1, [&](std::uint32_t line, std::uint32_t i) {
        float& low = x[lines.index(line, i)];
        float& high = x[lines.index(line, 2 * half - 1 - i)];
        const float a = low;
        const float b = high;
        low = a + b;
        high = a - b;
      });
    });
    const float* const matrix = cosines + first_cosine(std::size_t{2} * half);
    block.each([&](int t) {
      lines.each(t, Block::kSize, level - 1, [&](std::uint32_t line, std::uint32_t k) {
        float sum = 0;
        // The matrix is symmetric, so that consecutive threads read consecutive addresses.
        for (std::uint32_t i = 0; i < half; ++i) {
          const float product = x[lines.index(line, 2 * half - 1 - i)] * matrix[i * half + k];
          sum = sum + product;
        }
        other[lines.index(line, (2 * k + 1) << (lines.bits - level))] = sum * lines.others;
      });
    });
  }
  block.each([&](int t) {
    lines.each(t, Block::kSize, 0, [&](std::uint32_t line, std::uint32_t i) {
      other[lines.index(line, i)] = x[lines.index(line, i)] * lines.first;
    });
  });
  return other;
}

/// The inverse transform, with the same arguments.
template <class Block>
THINPIPE_KERNEL float* inverse_dct(Block& block, const DctLines& lines, const float* cosines,
                                   float* x, float* other) {
  if (lines.bits == 0) return x;
  each_of(block, kTile, [&](std::uint32_t at) { x[at] = x[at] * lines.weight(at); });
  block.each([&](int t) {
    lines.each(t, Block::kSize, 0, [&](std::uint32_t line, std::uint32_t i) {
      other[lines.index(line, i)] = x[lines.index(line, i)];
    });
  });
  for (std::uint32_t level = 1; level <= lines.bits; ++level) {
    const std::uint32_t half = std::uint32_t{1} << (level - 1);
    const float* const matrix = cosines + first_cosine(std::size_t{2} * half);
    block.each([&](int t) {
      lines.each(t, Block::kSize, level - 1, [&](std::uint32_t line, std::uint32_t i) {
        float sum = 0;
        for (std::uint32_t k = 0; k < half; ++k) {
          const float product =
              x[lines.index(line, (2 * k + 1) << (lines.bits - level))] * matrix[k * half + i];
          sum = sum + product;
        }
        float& low = other[lines.index(line, i)];
        const float even = low;
        low = even + sum;
        other[lines.index(line, 2 * half - 1 - i)] = even - sum;
      });
    });
  }
  return other;
}

/// DemoGrid (compressors/methods/quantizers.h) for kernels.
struct DemoCut {
  static constexpr std::uint32_t kOutside = 0xffffffff;

  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t across = 1;  ///< chunks side by side
  std::uint32_t coefficients = 0;
  DctLines row = {};     ///< rows of a chunk
  DctLines column = {};  ///< columns of a chunk
  const float* cosines = nullptr;

  /// Returns the index of the tensor element that has the same position in its chunk as coefficient
  /// `at`. Returns kOutside if that position is outside the tensor.
  THINPIPE_BOTH std::uint32_t element_of(std::uint32_t at) const {
    if (at >= coefficients) return kOutside;
    const std::uint32_t chunk = at >> (row.bits + column.bits);
    const std::uint32_t y = (chunk / across << column.bits) +
                            (at >> row.bits & ((std::uint32_t{1} << column.bits) - 1));
    const std::uint32_t x =
        (chunk % across << row.bits) + (at & ((std::uint32_t{1} << row.bits) - 1));
    return y < rows && x < columns ? y * columns + x : kOutside;
  }
};

/// Shared memory of a block.
struct DemoShared {
  float x[kTile];
  float other[kTile];
  std::uint32_t begin;  ///< the tile's range of the sent coefficients
  std::uint32_t end;
};

/// Transforms the coefficients of a tile back, out of `count` sent ones by ascending position.
/// @returns kTile values in shared memory
template <class Block>
THINPIPE_KERNEL const float* turn_back(Block& block, DemoShared& shared, const DemoCut& cut,
                                       std::uint32_t tile, const std::uint32_t* positions,
                                       const float* values, std::uint32_t count) {
  block.each([&](int t) {
    for (auto i = static_cast<std::uint32_t>(t); i < kTile; i += Block::kSize) shared.x[i] = 0;
    if (t > 1) return;
    // Thread 0 finds the first coefficient of the tile, thread 1 that of the next tile.
    const std::uint32_t first = (tile + static_cast<std::uint32_t>(t)) * kTile;
    (t == 0 ? shared.begin : shared.end) =
        first_where(0, count, [&](std::uint32_t at) { return positions[at] >= first; });
  });
  // Positions that do not ascend may give an end before the beginning.
  block.each([&](int t) {
    for (auto at = shared.begin + static_cast<std::uint32_t>(t); at < shared.end;
         at += Block::kSize) {
      shared.x[positions[at] - tile * kTile] = values[at];
    }
  });
  float* const rows = inverse_dct(block, cut.row, cut.cosines, shared.x, shared.other);
  float* const other = rows == shared.x ? shared.other : shared.x;
  return inverse_dct(block, cut.column, cut.cosines, rows, other);
}

/// Common part of the kernels of encoding. Grid: the tiles of kTile coefficients.
struct DemoKernel {
  static constexpr int kThreads = 512;
  using Shared = DemoShared;

  const Job* jobs;
  const Job* coefficients;  ///< jobs whose tensors are the coefficients
  const DemoCut* cuts;
  const Tile* tiles;
};

/// Updates the memory and computes the coefficients of all chunks of c.
struct TransformDemo : DemoKernel {
  THINPIPE_KERNEL void operator()(auto& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const DemoCut cut = cuts[tile.job];
    float* const to = coefficients[tile.job].r;
    each_of(block, kTile, [&](std::uint32_t i) {
      const std::uint32_t at = cut.element_of(tile.index * kTile + i);
      shared.x[i] = at == DemoCut::kOutside ? 0 : dct_input(element<Reading::kSum>(job, at));
    });
    float* const rows = dct(block, cut.row, cut.cosines, shared.x, shared.other);
    float* const other = rows == shared.x ? shared.other : shared.x;
    const float* const all = dct(block, cut.column, cut.cosines, rows, other);
    each_of(block, kTile, [&](std::uint32_t i) {
      const std::uint32_t at = tile.index * kTile + i;
      if (at < cut.coefficients) to[at] = all[i];
    });
  }
};

/// Subtracts the decoded payload from the memory.
struct LeaveDemo : DemoKernel {
  THINPIPE_KERNEL void operator()(auto& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const Job of = coefficients[tile.job];
    const DemoCut cut = cuts[tile.job];
    const std::uint32_t count = of.findings->counts[of.sent];
    block.each([&](int t) {
      if (tile.index != 0 || t != 0) return;
      job.findings->encoded = of.findings->encoded;
      // A coefficient affects all elements of its chunk.
      job.findings->counts[1] = count == 0 ? 0 : job.n;
    });
    if (!job.minds_sent()) return;
    const float* const decoded =
        turn_back(block, shared, cut, tile.index, of.chosen.positions, of.decoded, count);
    each_of(block, kTile, [&](std::uint32_t i) {
      const std::uint32_t at = cut.element_of(tile.index * kTile + i);
      if (at != DemoCut::kOutside) leave(job, at, job.c()[at], decoded[i]);
    });
  }
};

/// Computes out += factor * decoded from the coefficients that an earlier kernel has read, unless a
/// problem was found in the payload. Grid: the tiles of kTile coefficients.
struct AddDemo {
  static constexpr int kThreads = 512;
  using Shared = DemoShared;

  const DemoCut* cuts;  ///< of all tensors

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared, const DecodeJob& job) const {
    if (*job.problem != 0) return;
    const DemoCut cut = cuts[job.tensor];
    const std::uint32_t tile = block.index();
    const float* const decoded =
        turn_back(block, shared, cut, tile, job.positions, job.values, job.payload.open().count);
    each_of(block, kTile, [&](std::uint32_t i) {
      const std::uint32_t at = cut.element_of(tile * kTile + i);
      if (at != DemoCut::kOutside) add_decoded(job, at, decoded[i]);
    });
  }
};

/// Treats the coefficients of a tensor as a second tensor, with its own job and findings. The
/// payload of this second tensor is that of a sparse method.
template <class Device>
class DemoQuantizer : public DeviceQuantizer<Device> {
 public:
  explicit DemoQuantizer(const MakerInput& input)
      : k_(input.parameters.count("topk")),
        values_(make_values<Device>(input.parameters.choice("values"), 0)),
        value_codec_(make_value_codec(input.parameters.choice("values"))) {
    const std::size_t chunk = input.parameters.count("chunk");
    for (const TensorInfo& tensor : input.tensors) {
      grids_.push_back(demo_grid(tensor.shape, tensor.elements, chunk));
      input.check_count(tensor, grids_.back().coefficients(), "coefficients");
    }
  }

  std::size_t max_encoded_size(std::size_t tensor, std::size_t /*elements*/) const override {
    const std::size_t coefficients = grids_[tensor].coefficients();
    const Chunks chunks = chunks_of(tensor);
    const std::size_t most = chunks.selected(coefficients);
    return varint_size(most) + value_codec_->size(most) +
           make_chunked_codec(chunks)->max_size(most, coefficients);
  }
  bool fits(std::size_t tensor, std::size_t bytes, std::size_t elements) const override {
    return bytes <= max_encoded_size(tensor, elements);
  }

  void open(Device& device, std::size_t tensor, Job& job) override {
    const DemoGrid& grid = grids_[tensor];
    const std::size_t n = grid.coefficients();
    const std::size_t selected = chunks_of(tensor).selected(n);
    Job own;
    own.n = static_cast<std::uint32_t>(n);
    own.chunks = layout_of(chunks_of(tensor), n);
    own.target = static_cast<std::uint32_t>(selected);
    own.place = place_of(1);
    own.sent = values_->drops() ? 1 - own.place : own.place;
    own.r = device_array<float>(device, n);
    allocate_chosen(device, selected, own);
    own.decoded = device_array<float>(device, selected);
    allocate_workspace(device, own);
    own.payload = job.payload;
    own.capacity = static_cast<std::uint32_t>(max_encoded_size(tensor, job.n));
    own.values = values_->size();
    own.findings = device_array<Findings>(device, 1);
    values_->prepare(device, selected, own);
    jobs_.push_back(own);
    cuts_.push_back(cut_of(grid, device));
  }

  void launch(Device& device, const Batch& batch) override {
    if (coefficients_.jobs == nullptr) upload(device);
    const DemoKernel tiles{batch.jobs, coefficients_.jobs, device_cuts_, coefficients_.tiles};
    device.launch(TransformDemo{tiles}, coefficients_.tile_count);
    coefficients_.launch_tiles<ChooseOfChunks<Reading::kAsIs>>(device);
    values_->measure(device, coefficients_);
    CodedChunked<Device>({}).write(device, coefficients_);
    values_->write(device, coefficients_);
    device.launch(LeaveDemo{tiles}, coefficients_.tile_count);
  }

  void plan_decode(Device& device, DecodeJob& job, DecodePlan& plan) override {
    if (coefficients_.jobs == nullptr) upload(device);
    const Job& own = jobs_[job.tensor];
    job.payload.n = own.n;
    job.payload.value_size = own.values;
    job.chunks = own.chunks;
    // Unused between two steps.
    job.positions = own.staged.positions;
    job.values = own.decoded;
    plan[DecodeGrid::kPositions] = tiles_of(own.chunks.selected(), kTile);
    plan[DecodeGrid::kElements] = plan[DecodeGrid::kPositions];
    plan[DecodeGrid::kTiles] = tiles_of(own.n, kTile);
    plan.begins = own.chunks.chunks();
  }
  void decode(Device& device, const DecodeBatch& batch) override {
    read_chunked(device, batch);
    values_->read(device, batch);
    batch.launch(device, DecodeGrid::kTiles, AddDemo{device_cuts_});
  }
  std::string problem(std::uint32_t number) const override {
    if (static_cast<PayloadProblem>(number) == PayloadProblem::kValue)
      return "values in the payload are not what a compressor writes";
    return "count, length or positions of the coefficients in the payload are not what a "
           "compressor writes";
  }

 private:
  Chunks chunks_of(std::size_t tensor) const { return {.size = grids_[tensor].size(), .k = k_}; }

  DemoCut cut_of(const DemoGrid& grid, Device& device) {
    if (cosines_ == nullptr) cosines_ = uploaded(device, dct_cosines());
    const auto lines = [](std::size_t n, std::size_t beside) {
      return DctLines{.bits = static_cast<std::uint32_t>(std::bit_width(n) - 1),
                      .apart = static_cast<std::uint32_t>(std::bit_width(beside) - 1),
                      .first = std::sqrt(1.0F / static_cast<float>(n)),
                      .others = std::sqrt(2.0F / static_cast<float>(n))};
    };
    return {.rows = static_cast<std::uint32_t>(grid.rows),
            .columns = static_cast<std::uint32_t>(grid.columns),
            .across = static_cast<std::uint32_t>(std::max<std::size_t>(1, grid.across())),
            .coefficients = static_cast<std::uint32_t>(grid.coefficients()),
            .row = lines(grid.width, 1),
            .column = lines(grid.height, grid.width),
            .cosines = cosines_};
  }

  /// Uploads the jobs once, when all tensors are known; they do not change.
  void upload(Device& device) {
    coefficients_ = make_batch(device, jobs_);
    coefficients_.jobs = uploaded(device, jobs_);
    device_cuts_ = uploaded(device, cuts_);
  }

  std::vector<DemoGrid> grids_;  ///< by tensor
  std::size_t k_;                ///< coefficients sent per chunk
  std::unique_ptr<DeviceValues<Device>> values_;
  std::unique_ptr<ValueCodec> value_codec_;
  std::vector<Job> jobs_;  ///< of the coefficients
  std::vector<DemoCut> cuts_;
  Batch coefficients_;
  DemoCut* device_cuts_ = nullptr;
  float* cosines_ = nullptr;
};

}  // namespace thinpipe::cuda
