// QSGD in Elias codes: computes codes of equal length first, then recodes them.
#pragma once

#include <string>
#include <vector>

#include "compressors/cuda/encode/device_decodes.h"
#include "compressors/cuda/kernels/read_levels.h"
#include "compressors/cuda/kernels/write_levels.h"
#include "compressors/cuda/quantize/codes.h"
#include "compressors/methods/quantizers.h"

namespace thinpipe::cuda {

template <class Device>
class EliasQuantizer : public CodeQuantizer<Device, LevelCode<NormRange>> {
  using Fixed = CodeQuantizer<Device, LevelCode<NormRange>>;

 public:
  EliasQuantizer(const MakerInput& input, LevelCode<NormRange> code)
      : Fixed(code, input.bucket(), "", input.streams()) {
    this->packs_codes_ = true;
    for (std::size_t i = 0; i < input.tensors.size(); ++i)
      input.check_count(input.tensors[i],
                        EliasQuantizer::max_encoded_size(i, input.tensors[i].elements),
                        "bytes of payload at most");
  }

  std::size_t max_encoded_size(std::size_t /*tensor*/, std::size_t elements) const override {
    if (elements == 0) return 0;
    const SliceCut cut = SliceCut::of(static_cast<std::uint32_t>(elements), layout().bucket);
    return make_qsgd_elias_bucket(layout().bits, 0)->max_size_of(elements, cut.bucket);
  }
  bool fits(std::size_t tensor, std::size_t bytes, std::size_t elements) const override {
    return bytes <= max_encoded_size(tensor, elements);
  }
  void open(Device& device, std::size_t tensor, Job& job) override {
    Fixed::open(device, tensor, job);
    const SliceCut cut = SliceCut::of(job.n, layout().bucket);
    job.packed = device_array<std::uint8_t>(device, layout().bytes(job.n) + 4);
    workspaces_.push_back({.runs = device_array<LevelRun>(device, cut.slices()),
                           .records = device_array<LevelRecord>(device, cut.buckets())});
    tiles_.add(static_cast<std::uint32_t>(tensor), cut.tiles());
  }

  void launch(Device& device, const Batch& batch) override {
    if (tiles_.on_device == nullptr) {
      tiles_.upload(device);
      device_workspaces_ = uploaded(device, workspaces_);
    }
    Fixed::launch(device, batch);
    const LevelKernel tiles{{batch.jobs, tiles_.on_device}, device_workspaces_, layout()};
    device.launch(MeasureLevels{tiles}, tiles_.count());
    device.launch(JoinLevels{batch.jobs, device_workspaces_, layout()}, batch.tensors);
    device.launch(ClearLevels{tiles}, tiles_.count());
    device.launch(WriteLevels{tiles}, tiles_.count());
  }

  /// Plans the grids of the decoding kernels. The kernels of grid kParts find the records, and
  /// those of kElements read them. A tensor that is a single record of several slices is read as a
  /// stream of codes instead: the kernels of kPositions read its segments, and those of kTiles join
  /// them.
  void plan_decode(Device& /*device*/, DecodeJob& job, DecodePlan& plan) override {
    const SliceCut cut = SliceCut::of(job.payload.n, layout().bucket);
    job.bits = static_cast<std::uint32_t>(layout().bits);
    job.bucket = cut.bucket;
    if (cut.buckets() != 1 || cut.each() == 1) {
      plan[DecodeGrid::kParts] = 1;
      plan[DecodeGrid::kElements] = tiles_of(cut.buckets(), ReadRecords::kThreads);
      plan.begins = cut.buckets();
      return;
    }
    plan_states<LevelStream>(job.payload, plan);
    plan[DecodeGrid::kTiles] = 1;
  }
  void decode(Device& device, const DecodeBatch& batch) override {
    batch.launch(device, DecodeGrid::kParts, FindRecords{});
    batch.launch(device, DecodeGrid::kElements, ReadRecords{});
    batch.launch(device, DecodeGrid::kPositions, PassStates<LevelStream>{});
    batch.launch(device, DecodeGrid::kTiles, JoinStates<LevelStream>{});
    batch.launch(device, DecodeGrid::kPositions, AddLevels{});
  }
  std::string problem(std::uint32_t number) const override {
    return number >= static_cast<std::uint32_t>(LevelProblem::kCodes)
               ? "the Elias codes in the payload are not a bucket's"
               : "the steps, or the lengths, of buckets in the payload are not what a compressor "
                 "writes";
  }

 private:
  const CodeLayout& layout() const { return this->layout_; }

  std::vector<LevelWorkspace> workspaces_;
  TileTable tiles_;
  LevelWorkspace* device_workspaces_ = nullptr;
};

}  // namespace thinpipe::cuda
