// A sparse method on the GPU: memory, selector, payload.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/device_base.h"
#include "compressors/cuda/encode/device_encoding.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/select/device_selector.h"

namespace thinpipe::cuda {

/// Elements to restore to one tensor's memory.
struct GiveBackJob {
  float* memory = nullptr;
  const std::uint32_t* positions = nullptr;  ///< distinct
  const float* values = nullptr;
  std::uint32_t count = 0;
  bool is_estimate = false;
  std::uint32_t first_block[1] = {};
};

/// Adds each value to the memory at its position, or subtracts it if the memory is an estimate.
/// Results that are not finite become 0, as in scatter() of memory/memory.cc. Grid:
/// blocks_for(count).
struct GiveBack {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kElements = 4096;  ///< of a block: 16 a thread
  struct Shared {};

  static constexpr std::size_t blocks_for(std::size_t n) { return (n + kElements - 1) / kElements; }

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/, const GiveBackJob& job) const {
    each_of_tile<kElements>(block, block.index(), job.count, [&](std::uint32_t i) {
      float& kept = job.memory[job.positions[i]];
      const float value = job.is_estimate ? kept - job.values[i] : kept + job.values[i];
      kept = value - value == 0 ? value : 0.0F;
    });
  }
};

template <class Device>
class SparseDeviceCompressor : public DeviceBase<Device>, public DeviceSparsePayload {
 public:
  SparseDeviceCompressor(std::shared_ptr<Device> device, std::vector<StateIdentity> identities,
                         const DeviceMemoryOptions& memory,
                         std::unique_ptr<DeviceSelector<Device>> selector,
                         DeviceEncoding<Device> encoding)
      : DeviceBase<Device>(std::move(device), std::move(identities), memory, *selector),
        selector_(std::move(selector)),
        encoding_(std::move(encoding)),
        returned_(device_) {
    returned_.clear(this->tensors());
    this->allocate([this](std::size_t i, Job& job) {
      const auto words = [this](std::size_t n) { return device_array<std::uint32_t>(*device_, n); };
      allocate_chosen(*device_, job.n, job);
      if (const std::size_t most = selector_->max_sampled(job.n); most > 0)
        job.sample = words(most);
      job.histogram = words(kBins);
      job.payload = words(max_encoded_size(i) / 4 + 2);
      job.capacity = static_cast<std::uint32_t>(max_encoded_size(i));
      job.values = encoding_.values->size();
      encoding_.values->prepare(*device_, selector_->max_selected(job.n), job);
      encoding_.positions->prepare(*device_, job);
      selector_->allocate(*device_, i, job);
    });
    again_.device_tiles = device_array<Tile>(*device_, batch_.tile_count);
    again_.device_sum_tiles = device_array<Tile>(*device_, batch_.sum_tile_count);
    again_.device_parts = device_array<Part>(*device_, batch_.part_count);
    DeviceBase<Device>::reset();
  }

  std::size_t max_encoded_size(std::size_t tensor) const override {
    const std::size_t most = selector_->max_selected(identities_[tensor].elements);
    return encoding_.max_size(most, identities_[tensor].elements);
  }

  void encode(std::span<const float* const> device_gradients, const DeviceStep& step) override {
    this->check_gradients(device_gradients.size());
    batch_.fits = batch_.choices = 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      Job& job = jobs_[i];
      job.g = device_gradients[i];
      selector_->prepare(i, step, job);
      job.place = place_of(job.choices);
      job.sent = encoding_.values->drops() ? 1 - job.place : job.place;
      batch_.fits = std::max(batch_.fits, job.fits);
      batch_.choices = std::max(batch_.choices, job.choices);
    }
    this->ready_sums(false);
    this->repeat([this] {
      this->send_jobs();
      selector_->launch(*device_, batch_);
      encoding_.write(*device_, batch_);
      this->download_findings();
    });
  }

  std::span<const EncodeReport> finish() override {
    device_->wait();
    failed_.resize(jobs_.size());
    std::iota(failed_.begin(), failed_.end(), std::size_t{0});
    const auto succeeded = [this](std::size_t i) {
      return selector_->note(i, jobs_[i], findings_[i]);
    };
    while (std::erase_if(failed_, succeeded), !failed_.empty()) choose_again();
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const Job& job = jobs_[i];
      const Findings& findings = findings_[i];
      this->reports_[i] = {.encoded_bytes = findings.encoded,
                           .target_elements = job.target,
                           .selected_elements = findings.counts[job.sent],
                           .threshold = findings.threshold,
                           .passes = static_cast<int>(job.fits)};
    }
    return this->reports_;
  }

  void give_back(std::span<const DeviceReturn> returns) override {
    if (returns.size() > this->tensors())
      throw std::logic_error("give_back() of a tensor more than once");
    returned_.clear(returns.size());
    for (const DeviceReturn& one : returns) {
      const Job& job = jobs_[one.tensor];
      const bool is_estimate = job.h != nullptr;
      if (is_estimate || job.keeps)
        returned_.add({.memory = is_estimate ? job.h : job.r,
                       .positions = one.device_positions,
                       .values = one.device_values,
                       .count = static_cast<std::uint32_t>(one.count),
                       .is_estimate = is_estimate},
                      GiveBack::blocks_for(one.count));
    }
    returned_.launch(GiveBack{});
  }

 protected:
  std::string unfit(std::size_t tensor, std::size_t bytes) const override {
    const std::size_t most = std::min(max_payload(identities_[tensor].elements), kMaxPayload);
    if (bytes <= most) return "";
    return "payload is " + std::to_string(bytes) + " bytes long; expected at most " +
           std::to_string(most);
  }
  void plan_decode(DecodeJob& job, DecodePlan& plan) override {
    const Job& own = jobs_[job.tensor];
    job.positions = own.staged.positions;  // unused between two steps
    encoding_.plan_read(own, job, plan);
  }
  void launch_decodes(const DecodeBatch& batch) override { encoding_.read(*device_, batch); }
  std::string problem_of(std::uint32_t number, std::size_t tensor,
                         std::size_t bytes) const override {
    const std::string elements = std::to_string(identities_[tensor].elements);
    switch (static_cast<PayloadProblem>(number)) {
      case PayloadProblem::kCount:
        return "the count of elements in the payload is not a number of at most " + elements +
               " in its shortest form";
      case PayloadProblem::kLength:
        return "payload is " + std::to_string(bytes) +
               " bytes long; expected values and positions of the elements counted";
      case PayloadProblem::kPosition:
        return "positions in the payload do not ascend from 0 to " + elements +
               " (exclusive), as many as it counts";
      case PayloadProblem::kNone:
      case PayloadProblem::kValue:
        break;
    }
    return "values in the payload are not what a compressor writes";
  }

 private:
  using DeviceBase<Device>::batch_;
  using DeviceBase<Device>::device_;
  using DeviceBase<Device>::findings_;
  using DeviceBase<Device>::identities_;
  using DeviceBase<Device>::jobs_;

  /// Returns an upper bound of a payload's bytes for any encoding: the count and headers, and per
  /// element one word for the value and one for the position.
  static std::size_t max_payload(std::size_t elements) { return 64 + 8 * elements; }

  /// Selects again from the tensors in failed_, whose memories have already been updated, by one
  /// launch of each kernel. Allocates nothing.
  void choose_again() {
    again_.jobs.clear();
    for (const std::size_t tensor : failed_) {
      again_.jobs.push_back(jobs_[tensor]);
      selector_->retry(tensor, again_.jobs.back());
    }
    again_.tiles.clear();
    again_.sum_tiles.clear();
    again_.parts.clear();
    Batch batch = batch_;
    batch.choices = 0;
    for (std::uint32_t i = 0; i < again_.jobs.size(); ++i) {
      const Job& job = again_.jobs[i];
      add_tiles(i, tiles_of(job.n, kTile), again_.tiles);
      add_tiles(i, tiles_of(job.n, kSumTile), again_.sum_tiles);
      add_tiles(i, job.parts, again_.parts);
      batch.choices = std::max(batch.choices, job.choices);
    }
    // The next step uploads its own jobs.
    device_->upload(this->device_jobs_, again_.jobs.data(), again_.jobs.size() * sizeof(Job));
    batch.tensors = again_.jobs.size();
    const auto send = [&]<class T>(const std::vector<T>& tiles, T* to, std::size_t& count) {
      device_->upload(to, tiles.data(), tiles.size() * sizeof(T));
      count = tiles.size();
      return to;
    };
    batch.tiles = send(again_.tiles, again_.device_tiles, batch.tile_count);
    batch.sum_tiles = send(again_.sum_tiles, again_.device_sum_tiles, batch.sum_tile_count);
    batch.parts = send(again_.parts, again_.device_parts, batch.part_count);
    selector_->launch_again(*device_, batch);
    encoding_.write(*device_, batch);
    this->download_findings();
    device_->wait();
  }

  /// Jobs and tables of the tensors that are selected again.
  struct Again {
    std::vector<Job> jobs;
    std::vector<Tile> tiles, sum_tiles;
    std::vector<Part> parts;
    Tile* device_tiles = nullptr;  ///< as large as the tables of all tensors
    Tile* device_sum_tiles = nullptr;
    Part* device_parts = nullptr;
  };

  std::unique_ptr<DeviceSelector<Device>> selector_;
  DeviceEncoding<Device> encoding_;
  DeviceJobs<Device, GiveBackJob> returned_;  ///< of give_back()
  std::vector<std::size_t> failed_;           ///< tensors whose selection must be repeated
  Again again_;
};

}  // namespace thinpipe::cuda
