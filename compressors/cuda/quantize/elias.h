// QSGD in Elias codes: its codes of equal length first, which are then written anew.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/kernels/read_levels.h"
#include "compressors/cuda/kernels/write_levels.h"
#include "compressors/cuda/quantize/codes.h"
#include "compressors/quantize/qsgd.h"

namespace thinpipe::cuda {

template <class Device>
class EliasQuantizer : public CodeQuantizer<Device, LevelCode<NormRange>> {
  using Fixed = CodeQuantizer<Device, LevelCode<NormRange>>;

 public:
  EliasQuantizer(LevelCode<NormRange> code, std::uint32_t bucket,
                 std::vector<std::uint64_t> streams)
      : Fixed(code, bucket, "", std::move(streams)) {
    this->packs_codes_ = true;
  }

  std::size_t max_encoded_size(std::size_t /*tensor*/, std::size_t elements) const override {
    if (elements == 0) return 0;
    const PieceCut cut = PieceCut::of(static_cast<std::uint32_t>(elements), layout().bucket);
    return make_qsgd_elias_bucket(layout().bits, 0)->max_size_of(elements, cut.bucket);
  }
  bool fits(std::size_t tensor, std::size_t bytes, std::size_t elements) const override {
    return bytes <= max_encoded_size(tensor, elements);
  }
  void open(Device& device, std::size_t tensor, Job& job) override {
    Fixed::open(device, tensor, job);
    const auto array = [&]<class T>(T* /*of*/, std::size_t count) {
      return static_cast<T*>(device.allocate(count * sizeof(T)));
    };
    const PieceCut cut = PieceCut::of(job.n, layout().bucket);
    job.packed = array(static_cast<std::uint8_t*>(nullptr), layout().bytes(job.n) + 4);
    rooms_.push_back({.runs = array(static_cast<LevelRun*>(nullptr), cut.pieces()),
                      .records = array(static_cast<LevelRecord*>(nullptr), cut.buckets())});
    begins_.push_back(array(static_cast<std::uint32_t*>(nullptr), cut.buckets()));
    for (std::uint32_t i = 0; i < cut.tiles(); ++i)
      tiles_.push_back({static_cast<std::uint32_t>(tensor), i});
  }

  void launch(Device& device, const Batch& batch) override {
    if (device_tiles_ == nullptr) {
      device_tiles_ = uploaded(device, tiles_);
      device_rooms_ = uploaded(device, rooms_);
      device.wait();
    }
    Fixed::launch(device, batch);
    const std::size_t count = tiles_.size();
    device.launch(MeasureLevels{batch.jobs, device_tiles_, device_rooms_, layout()}, count);
    device.launch(JoinLevels{batch.jobs, device_rooms_, layout()}, batch.tensors);
    device.launch(ClearLevels{batch.jobs, device_tiles_, device_rooms_, layout()}, count);
    device.launch(WriteLevels{batch.jobs, device_tiles_, device_rooms_, layout()}, count);
  }

  void decode(Device& device, const DeviceDecoding& decoding) override {
    const PieceCut cut = PieceCut::of(decoding.n, layout().bucket);
    const LevelView view{.payload = {.words = decoding.payload,
                                     .bytes = decoding.bytes,
                                     .n = decoding.n,
                                     .value_size = {}},
                         .bits = static_cast<std::uint32_t>(layout().bits),
                         .factor = decoding.factor};
    if (cut.buckets() != 1 || cut.each() == 1) {
      constexpr std::uint32_t kThreads = ReadRecords::kThreads;
      std::uint32_t* const begins = begins_[decoding.tensor];
      device.launch(FindRecords{view, cut, begins, decoding.problem}, 1);
      device.launch(ReadRecords{view, cut, begins, decoding.out, decoding.problem},
                    tiles_of(cut.buckets(), kThreads));
      return;
    }
    const WholeLevels whole{view};
    const ScanRoom room{.passed = passed_for(device, decoding.bytes),
                        .arrived = nullptr,
                        .positions = nullptr,
                        .problem = decoding.problem};
    device.launch(PassStates<LevelStream>{whole, room}, blocks(decoding.bytes));
    device.launch(JoinStates<LevelStream>{whole, room}, 1);
    device.launch(AddLevels{whole, room, decoding.out}, blocks(decoding.bytes));
  }
  std::string problem(std::uint32_t number) const override {
    return number >= static_cast<std::uint32_t>(LevelProblem::kCodes)
               ? "the Elias codes in the payload are not a bucket's"
               : "the steps, or the lengths, of buckets in the payload are not what a compressor "
                 "writes";
  }

 private:
  const CodeLayout& layout() const { return this->layout_; }

  template <class T>
  static T* uploaded(Device& device, const std::vector<T>& values) {
    auto* const there = static_cast<T*>(device.allocate(values.size() * sizeof(T)));
    device.upload(there, values.data(), values.size() * sizeof(T));
    return there;
  }
  static std::size_t blocks(std::uint32_t bytes) {
    return std::size_t{8} * bytes / (LevelStream::kBits * LevelStream::kStretches) + 1;
  }
  /// Grows with the first payloads.
  Passed* passed_for(Device& device, std::uint32_t bytes) {
    const std::size_t entries = StateRoom<LevelStream>::entries(blocks(bytes));
    if (entries > passed_) {
      passed_ = 2 * entries;
      device_passed_ = static_cast<Passed*>(device.allocate(passed_ * sizeof(Passed)));
    }
    return device_passed_;
  }

  std::vector<LevelRoom> rooms_;
  std::vector<std::uint32_t*> begins_;  ///< of each tensor's records, when they are read
  std::vector<Tile> tiles_;
  Tile* device_tiles_ = nullptr;
  LevelRoom* device_rooms_ = nullptr;
  Passed* device_passed_ = nullptr;
  std::size_t passed_ = 0;
};

}  // namespace thinpipe::cuda
