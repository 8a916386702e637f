// DeMo: the largest cosine coefficients of every chunk, in a sparse payload (methods/demo.cc).
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/encode/device_encoding.h"
#include "compressors/cuda/kernels/choose_of_chunks.h"
#include "compressors/cuda/kernels/demo.h"
#include "compressors/cuda/quantize/device_quantizer.h"
#include "compressors/methods/quantizers.h"

namespace thinpipe::cuda {

/// Treats the coefficients of a tensor as a second tensor, with its own job and findings. The
/// payload of this second tensor is that of a sparse method.
template <class Device>
class DemoQuantizer : public DeviceQuantizer<Device> {
 public:
  explicit DemoQuantizer(const MakerInput& input)
      : k_(static_cast<std::size_t>(input.parameters.integer("topk"))),
        values_(make_values<Device>(input.parameters.choice("values"), 0)),
        value_codec_(make_value_codec(input.parameters.choice("values"))) {
    const std::size_t chunk = std::stoul(input.parameters.choice("chunk"));
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
  Chunks chunks_of(std::size_t tensor) const {
    return {.size = grids_[tensor].size(), .k = k_};
  }

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
