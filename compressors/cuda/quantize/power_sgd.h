// PowerSGD whose workers all-gather factors (exchange=allgather) or average them in rounds of
// all-reduces. Tensors that factors would not make smaller are sent uncompressed
// (methods/quantizers.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compressors/cuda/kernels/low_rank.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/cuda/quantize/codes.h"
#include "compressors/cuda/quantize/device_quantizer.h"
#include "compressors/kernels/sums.h"
#include "compressors/kernels/transforms.h"
#include "compressors/methods/quantizers.h"

namespace thinpipe::cuda {

// Orthonormalises the columns of p in up to two passes, bit for bit as methods/powersgd.cc. A pass
// computes the matrix of the products of all pairs of columns and its Cholesky factor, and applies
// the factor's inverse to every row of p.

/// The pairs of columns that a block multiplies: those of two groups of kSide columns.
struct ColumnPairs {
  static constexpr std::uint32_t kSide = 4;

  THINPIPE_BOTH static std::uint32_t groups(std::uint32_t rank) {
    return (rank + kSide - 1) / kSide;
  }
  /// Returns the blocks for one segment of rows.
  THINPIPE_BOTH static std::uint32_t blocks(std::uint32_t rank) {
    return groups(rank) * (groups(rank) + 1) / 2;
  }
};

/// Computes the products of all pairs of columns of p over every segment of rows. Stores the
/// product of columns k and i >= k at [k * rank + i] of the segment's LowRankMatrix::products.
/// Grid: ColumnPairs::blocks() for every segment of every matrix.
struct MultiplyColumns : OnMatrices {
  static constexpr int kThreads = static_cast<int>(kDotLanes);
  static constexpr std::uint32_t kSide = ColumnPairs::kSide;
  struct Shared {
    double lanes[kSide * kSide][kDotLanes];
  };

  std::size_t pass;

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const LowRankMatrix matrix = matrices[tile.job];
    if (pass >= orthogonalize_passes(matrix.rank)) return;
    const std::uint32_t rank = matrix.rank;
    const std::uint32_t segment = tile.index / ColumnPairs::blocks(rank);
    const std::uint32_t pair = tile.index % ColumnPairs::blocks(rank);
    std::uint32_t later = 0;
    while ((later + 1) * (later + 2) / 2 <= pair) ++later;
    const std::uint32_t first_k = (pair - later * (later + 1) / 2) * kSide;
    const std::uint32_t first_i = later * kSide;
    constexpr auto kRows = static_cast<std::uint32_t>(kDotStretch);
    const std::uint32_t begin = segment * kRows;
    const std::uint32_t end = matrix.rows - begin < kRows ? matrix.rows : begin + kRows;
    block.each([&](int t) {
      double sums[kSide][kSide] = {};
      for (std::uint32_t row = begin + static_cast<std::uint32_t>(t); row < end; row += kThreads) {
        double x[kSide], y[kSide];
        for (std::uint32_t j = 0; j < kSide; ++j) {
          x[j] = element(matrix, first_k + j, row);
          y[j] = element(matrix, first_i + j, row);
        }
        for (std::uint32_t k = 0; k < kSide; ++k)
          for (std::uint32_t i = 0; i < kSide; ++i) sums[k][i] += x[k] * y[i];
      }
      for (std::uint32_t k = 0; k < kSide; ++k)
        for (std::uint32_t i = 0; i < kSide; ++i) shared.lanes[k * kSide + i][t] = sums[k][i];
    });
    for (int half = kThreads / 2; half > 0; half /= 2)
      block.each([&](int t) {
        if (t >= half) return;
        for (double* const lanes : shared.lanes) lanes[t] += lanes[t + half];
      });
    block.each([&](int t) {
      const std::uint32_t k = first_k + static_cast<std::uint32_t>(t) / kSide;
      const std::uint32_t i = first_i + static_cast<std::uint32_t>(t) % kSide;
      if (static_cast<std::uint32_t>(t) >= kSide * kSide || i >= rank || k > i) return;
      matrix.products[(std::size_t{segment} * rank + k) * rank + i] = shared.lanes[t][0];
    });
  }

 private:
  THINPIPE_KERNEL static double element(const LowRankMatrix& matrix, std::uint32_t column,
                                        std::uint32_t row) {
    if (column >= matrix.rank) return 0;
    return static_cast<double>(matrix.p[std::size_t{column} * matrix.rows + row]);
  }
};

/// Adds up the products of all segments, in the array of the first segment, and computes the
/// Cholesky factor of their sums. Replaces the sums by the factor's elements off the diagonal, and
/// sets LowRankMatrix::scales to the inverse of its diagonal. Grid: one block per matrix.
struct FactorProducts {
  static constexpr int kThreads = 256;
  struct Shared {};

  const LowRankMatrix* matrices;
  std::size_t pass;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const LowRankMatrix matrix = matrices[block.index()];
    if (pass >= orthogonalize_passes(matrix.rank)) return;
    const std::uint32_t rank = matrix.rank;
    double* const products = matrix.products;
    each_of(block, rank * rank, [&](std::uint32_t at) {
      if (at % rank < at / rank) return;
      double sum = 0;
      for (std::uint32_t segment = 0; segment < matrix.dot_segments(); ++segment)
        sum += products[std::size_t{segment} * rank * rank + at];
      products[at] = sum;
      if (at % rank == at / rank) matrix.scales[at / rank] = sum;  // before
    });
    for (std::uint32_t k = 0; k < rank; ++k) {
      double* const shares = products + k * rank;
      const double scale = unit_scale(matrix.scales[k], shares[k]);
      block.each([&](int t) {
        for (std::uint32_t i = k + 1 + static_cast<std::uint32_t>(t); i < rank; i += kThreads)
          shares[i] *= scale;
      });
      block.each([&](int t) {
        if (t == 0) matrix.scales[k] = scale;
        const std::uint32_t left = rank - k - 1;
        for (auto at = static_cast<std::uint32_t>(t); at < left * left; at += kThreads) {
          const std::uint32_t m = k + 1 + at / left, i = k + 1 + at % left;
          if (i < m) continue;
          products[m * rank + i] = less_share(products[m * rank + i], shares[m], shares[i]);
        }
      });
    }
  }
};

/// Makes the columns of p orthonormal, row by row: subtracts from each column its components along
/// the earlier columns, and scales it. Sets p to 0 if any element is not finite. Grid: kRows rows
/// of every matrix.
struct SubtractComponents : OnMatrices {
  static constexpr std::uint32_t kRows = 256;
  static constexpr int kThreads = static_cast<int>(kRows);

  std::size_t pass;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const LowRankMatrix matrix = matrices[tile.job];
    if (pass >= orthogonalize_passes(matrix.rank)) return;
    const bool bad = *matrix.bad != 0;
    block.each([&](int t) {
      const std::uint32_t row = tile.index * kRows + static_cast<std::uint32_t>(t);
      if (row >= matrix.rows) return;
      float* const p = matrix.p + row;
      for (std::uint32_t k = 0; k < matrix.rank; ++k) {
        float& value = p[std::size_t{k} * matrix.rows];
        auto left = static_cast<double>(value);
        for (std::uint32_t j = 0; j < k; ++j)
          left = less_share(left, matrix.products[j * matrix.rank + k],
                            static_cast<double>(p[std::size_t{j} * matrix.rows]));
        value = bad ? 0 : static_cast<float>(left * matrix.scales[k]);
      }
    });
  }
};

template <class Device>
class PowerSgdQuantizer : public DeviceQuantizer<Device> {
 public:
  explicit PowerSgdQuantizer(const MakerInput& input)
      : seeds_(input.seeds()),
        warm_start_(input.parameters.flag("warm")),
        in_rounds_(input.parameters.choice("exchange") == "allreduce") {
    const auto rank = static_cast<std::size_t>(input.parameters.integer("rank"));
    for (const TensorInfo& one : input.tensors)
      shapes_.push_back(low_rank_shape(one.shape, one.elements, rank));
  }

  std::size_t max_encoded_size(std::size_t tensor, std::size_t elements) const override {
    const LowRankShape& shape = shapes_[tensor];
    if (shape.rank == 0) return as_is_.max_encoded_size(tensor, elements);
    return (shape.rows + shape.columns) * shape.rank * sizeof(float);
  }

  void open(Device& device, std::size_t tensor, Job& job) override {
    const auto number = static_cast<std::uint32_t>(tensor);
    const LowRankShape& shape = shapes_[tensor];
    which_.push_back(matrices_.size());
    if (shape.rank == 0) return as_is_tiles_.add(number, tiles_of(job.n, kTile));
    const auto array = [&](std::size_t count) { return device_array<float>(device, count); };
    LowRankMatrix matrix{.job = number,
                         .rows = static_cast<std::uint32_t>(shape.rows),
                         .columns = static_cast<std::uint32_t>(shape.columns),
                         .rank = static_cast<std::uint32_t>(shape.rank),
                         .seed = seeds_[tensor],
                         .p = array(shape.rows * shape.rank),
                         .q = array(shape.columns * shape.rank)};
    if (matrix.segments() > 1)
      matrix.workspace = array(matrix.segments() * shape.columns * shape.rank);
    const std::size_t products = matrix.dot_segments() * shape.rank * shape.rank;
    matrix.products = device_array<double>(device, products);
    matrix.scales = device_array<double>(device, shape.rank);
    const auto at = static_cast<std::uint32_t>(matrices_.size());
    matrices_.push_back(matrix);
    most_passes_ = std::max(most_passes_, orthogonalize_passes(matrix.rank));
    if (in_rounds_) {
      LowRankMatrix own = matrix;
      own.q = array(shape.columns * shape.rank);
      own_.push_back(own);
    }
    sum_tiles_.add(number, tiles_of(job.n, kSumTile));
    columns_.add(at, matrix.rank);
    left_.add(at, tiles_of(matrix.rows, MultiplyLeft::kRows));
    pairs_.add(at, matrix.dot_segments() * ColumnPairs::blocks(matrix.rank));
    rows_.add(at, tiles_of(matrix.rows, SubtractComponents::kRows));
    right_.add(at, matrix.segments() * MultiplyRight::blocks(matrix));
    if (matrix.segments() > 1) segmented_.add(at, tiles_of(matrix.columns * matrix.rank, kTile));
    factors_.add(at, tiles_of(matrix.factors(), kTile));
    elements_.add(at, tiles_of(job.n, kTile));
  }

  void launch(Device& device, const Batch& batch) override {
    begin(device, batch);
    orthogonalize(device, batch);
    multiply_right(device, batch, device_matrices_);
    write(device, batch, device_matrices_);
    launch_on<LeaveLowRank>(device, batch, device_matrices_, elements_);
  }

  /// Known before open(): a tensor with factors takes two rounds.
  int rounds() const override {
    const auto has_factors = [](const LowRankShape& shape) { return shape.rank > 0; };
    return in_rounds_ && std::any_of(shapes_.begin(), shapes_.end(), has_factors) ? 2 : 1;
  }
  /// Launches the kernels of one round, as the CPU implementation. Round 1 writes c q. Round 2
  /// orthonormalises the mean of round 1, p, and writes c^T p. The last call writes p and the mean
  /// of c^T p. The residual is c less this worker's contribution, not c less the mean.
  void launch_round(Device& device, const Batch& batch, int round) override {
    if (round == 1) {
      begin(device, batch);
      return write(device, batch, device_p_);
    }
    clear_bad(device);
    launch_on<TakeMean>(device, batch, device_matrices_, factors_, round == 2);
    if (round == 2) {
      orthogonalize(device, batch);
      clear_bad(device);
      multiply_right(device, batch, device_own_);
      return write(device, batch, device_own_q_);
    }
    write(device, batch, device_matrices_);
    launch_on<LeaveLowRank>(device, batch, device_own_, elements_);
  }
  void own_payload(Device& device, std::size_t tensor, ByteWriter& out) const override {
    const LowRankMatrix& own = own_[which_[tensor]];
    save_device_floats(device, own.p, std::size_t{own.rows} * own.rank, out);
    save_device_floats(device, own.q, std::size_t{own.columns} * own.rank, out);
  }

  void plan_decode(Device& device, DecodeJob& job, DecodePlan& plan) override {
    if (shapes_[job.tensor].rank == 0) return as_is_.plan_decode(device, job, plan);
    job.part = static_cast<std::uint32_t>(which_[job.tensor]);
    plan[DecodeGrid::kParts] = tiles_of(matrices_[job.part].factors(), kTile);
    plan[DecodeGrid::kTiles] = tiles_of(job.payload.n, kTile);
  }
  void decode(Device& device, const DecodeBatch& batch) override {
    as_is_.decode(device, batch);
    batch.launch(device, DecodeGrid::kParts, CheckFactors{});
    batch.launch(device, DecodeGrid::kTiles, AddLowRank{device_matrices_});
  }
  std::string problem(std::uint32_t /*number*/) const override {
    return "a number of p or q in the payload is not finite";
  }

  void reset(Device& device) override {
    upload(device);
    launch_on<RenewColumns>(device, {}, device_matrices_, columns_, true);
    device.wait();
  }
  std::size_t state_size(std::size_t tensor) const override { return q_of(tensor) * sizeof(float); }
  void save(Device& device, std::size_t tensor, ByteWriter& out) const override {
    if (q_of(tensor) == 0) return;
    save_device_floats(device, matrices_[which_[tensor]].q, q_of(tensor), out);
  }
  void load(Device& device, std::size_t tensor, ByteReader& in) override {
    std::vector<float> q(q_of(tensor));
    if (q.empty()) return;
    load_floats(in, q, "q");
    if (first_non_finite(q) != kAllFinite)
      throw PayloadError("a number of q in the payload is not finite");
    device.upload(matrices_[which_[tensor]].q, q.data(), q.size() * sizeof(float));
    device.wait();
  }

 private:
  /// Launches a kernel on tiles of matrices.
  template <class Kernel, class... Rest>
  static void launch_on(Device& device, const Batch& batch, const LowRankMatrix* matrices,
                        const TileTable& tiles, const Rest&... rest) {
    device.launch(Kernel{OnMatrices{batch.jobs, matrices, tiles.on_device}, rest...},
                  tiles.count());
  }

  /// Returns the number of floats in a tensor's q.
  std::size_t q_of(std::size_t tensor) const {
    const LowRankShape& shape = shapes_[tensor];
    return shape.columns * shape.rank;
  }
  /// Launches c, the memory's update, and p = c q.
  void begin(Device& device, const Batch& batch) {
    upload(device);
    using AsIs = EncodeWords<Fp32Code>;
    device.launch(AsIs{{batch.jobs, as_is_tiles_.on_device}, {}}, as_is_tiles_.count());
    device.launch(HoldGradients{{batch.jobs, sum_tiles_.on_device}}, sum_tiles_.count());
    clear_bad(device);
    launch_on<RenewColumns>(device, batch, device_matrices_, columns_, !warm_start_);
    launch_on<MultiplyLeft>(device, batch, device_matrices_, left_);
  }
  /// Launches the orthonormalisation of p, in up to two passes (compressors/kernels/transforms.h).
  void orthogonalize(Device& device, const Batch& batch) const {
    for (std::size_t pass = 0; pass < most_passes_; ++pass) {
      launch_on<MultiplyColumns>(device, batch, device_matrices_, pairs_, pass);
      device.launch(FactorProducts{device_matrices_, pass}, matrices_.size());
      launch_on<SubtractComponents>(device, batch, device_matrices_, rows_, pass);
    }
  }
  /// Launches q = c^T p.
  void multiply_right(Device& device, const Batch& batch, const LowRankMatrix* matrices) const {
    launch_on<MultiplyRight>(device, batch, matrices, right_);
    launch_on<AddSegments>(device, batch, matrices, segmented_);
  }
  void write(Device& device, const Batch& batch, const LowRankMatrix* matrices) const {
    launch_on<WriteFactors>(device, batch, matrices, factors_);
  }
  void clear_bad(Device& device) const {
    device.zero(bad_, matrices_.size() * sizeof(std::uint32_t));
  }
  /// Uploads the tables once, when all tensors are known.
  void upload(Device& device) {
    if (device_matrices_ != nullptr) return;
    for (TileTable* const tiles : {&as_is_tiles_, &sum_tiles_, &columns_, &left_, &pairs_, &rows_,
                                   &right_, &segmented_, &factors_, &elements_})
      tiles->upload(device);
    bad_ = device_array<std::uint32_t>(device, matrices_.size());
    for (std::size_t i = 0; i < matrices_.size(); ++i) matrices_[i].bad = bad_ + i;
    device_matrices_ = uploaded(device, matrices_);
    if (own_.empty()) return;
    for (std::size_t i = 0; i < own_.size(); ++i) own_[i].bad = bad_ + i;
    device_own_ = uploaded(device, own_);
    std::vector<LowRankMatrix> p = matrices_, own_q = own_;
    for (LowRankMatrix& one : p) one.columns = 0;
    for (LowRankMatrix& one : own_q) one.rows = 0;
    device_p_ = uploaded(device, p);
    device_own_q_ = uploaded(device, own_q);
  }

  std::vector<LowRankShape> shapes_;  ///< by tensor; rank 0: sent uncompressed
  std::vector<std::uint64_t> seeds_;  ///< of the first q, by tensor
  bool warm_start_, in_rounds_;
  WordQuantizer<Device, Fp32Code> as_is_{Fp32Code{}, ""};
  std::vector<LowRankMatrix> matrices_;
  std::vector<LowRankMatrix> own_;  ///< in rounds: the same p, with this worker's q
  std::vector<std::size_t> which_;  ///< by tensor, its index in matrices_
  std::size_t most_passes_ = 0;     ///< maximum over all matrices
  TileTable as_is_tiles_, sum_tiles_;
  TileTable columns_, left_, pairs_, rows_, right_, segmented_, factors_, elements_;
  LowRankMatrix *device_matrices_ = nullptr, *device_own_ = nullptr;
  LowRankMatrix *device_p_ = nullptr, *device_own_q_ = nullptr;  ///< with one factor only
  std::uint32_t* bad_ = nullptr;
};

}  // namespace thinpipe::cuda
