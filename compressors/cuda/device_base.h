// What sparse and dense methods on a device have in common: tensors, memories, checkpoints.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/device_compressor.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/kernels/moments_order.h"
#include "compressors/memory/state.h"
#include "compressors/pipeline_state.h"

namespace thinpipe::cuda {

/// compressors/memory/memory.h has the rules.
struct DeviceMemoryOptions {
  enum class Kind { kNone, kResidual, kMomentum } kind = Kind::kResidual;
  float decay = 1;
  float momentum = 0;
  bool nesterov = false;
  bool masking = true;
};

/// Everything is allocated at the beginning.
template <class Device>
class DeviceBase : public DeviceCompressor {
 public:
  std::size_t tensors() const override { return identities_.size(); }

  const std::byte* device_payload(std::size_t tensor) const override {
    return reinterpret_cast<const std::byte*>(jobs_[tensor].payload);
  }
  const float* device_residual(std::size_t tensor) const override { return jobs_[tensor].r; }

  void reset() override {
    for (const Job& job : jobs_) {
      if (job.r != nullptr) device_->zero(job.r, job.n * sizeof(float));
      if (job.u != nullptr) device_->zero(job.u, job.n * sizeof(float));
    }
    device_->wait();
  }

  void save_state(std::size_t tensor, std::vector<std::byte>& state) override {
    const Job& job = jobs_[tensor];
    ByteWriter out = begin_state(identities_[tensor], state_size(tensor), state);
    std::vector<float> floats(job.n);
    const auto put = [&](const float* device_floats) {
      device_->download(floats.data(), device_floats, floats.size() * sizeof(float));
      device_->wait();
      save_floats(out, floats);
    };
    // As processors' memories have it; none holds a gradient between steps here.
    if (has_flag()) out.put<std::uint8_t>(0);
    if (job.u != nullptr) put(job.u);
    if (job.r != nullptr) put(job.r);
    save_learned(tensor, out);
  }
  void load_state(std::size_t tensor, std::span<const std::byte> state) override {
    const Job& job = jobs_[tensor];
    ByteReader in = open_state(identities_[tensor], state_size(tensor), state);
    std::vector<float> floats(job.n);
    const auto get = [&](float* device_floats, const char* what) {
      load_floats(in, floats, what);
      device_->upload(device_floats, floats.data(), floats.size() * sizeof(float));
      device_->wait();
    };
    if (has_flag() && load_flag(in, "held")) {
      throw InputError(
          "tensor '" + identities_[tensor].tensor +
          "': the state is of the midst of a period (delay), which device=cuda has not");
    }
    if (job.u != nullptr) get(job.u, "velocity");
    if (job.r != nullptr) get(job.r, job.u != nullptr ? "accumulated velocity" : "residual");
    load_learned(tensor, in);
  }

 protected:
  DeviceBase(std::shared_ptr<Device> device, std::vector<StateIdentity> identities,
             const DeviceMemoryOptions& memory)
      : device_(std::move(device)),
        identities_(std::move(identities)),
        memory_(memory),
        jobs_(tensors()),
        findings_(tensors()),
        reports_(tensors()) {}

  // What a method learns from step to step, besides its memory.
  virtual std::size_t learned_size() const { return 0; }
  virtual void save_learned(std::size_t /*tensor*/, ByteWriter& /*out*/) const {}
  virtual void load_learned(std::size_t /*tensor*/, ByteReader& /*in*/) {}

  /// Room for all tensors. @param add  what a method needs besides, of one of them
  /// @param tile  elements of a tile, where it is not of kTile
  template <class Add>
  void allocate(Add add, std::uint32_t tile = kTile) {
    device_jobs_ = array<Job>(tensors());
    device_findings_ = array<Findings>(tensors());
    problem_ = array<std::uint32_t>(1);
    std::vector<Tile> sum_tiles, tiles;
    for (std::size_t i = 0; i < tensors(); ++i) {
      jobs_[i] = job_of(i);
      add(i, jobs_[i]);
      add_tiles(i, kSumTile, sum_tiles);
      add_tiles(i, tile, tiles);
    }
    batch_ = {.jobs = device_jobs_,
              .tensors = tensors(),
              .sum_tiles = uploaded(sum_tiles),
              .sum_tile_count = sum_tiles.size(),
              .tiles = uploaded(tiles),
              .tile_count = tiles.size()};
  }
  template <class T>
  T* array(std::size_t count) {
    return static_cast<T*>(device_->allocate(count * sizeof(T)));
  }
  template <class T>
  T* uploaded(const std::vector<T>& values) {
    T* const there = array<T>(values.size());
    device_->upload(there, values.data(), values.size() * sizeof(T));
    device_->wait();
    return there;
  }
  void add_tiles(std::size_t tensor, std::uint32_t size, std::vector<Tile>& tiles) const {
    for (std::uint32_t i = 0; i < tiles_of(jobs_[tensor].n, size); ++i)
      tiles.push_back({static_cast<std::uint32_t>(tensor), i});
  }

  void check_gradients(std::size_t found) const {
    if (found == tensors()) return;
    throw InputError("gradients of " + std::to_string(found) + " tensors; expected " +
                     std::to_string(tensors()));
  }
  void upload_jobs() { device_->upload(device_jobs_, jobs_.data(), tensors() * sizeof(Job)); }
  void upload_findings() {
    device_->upload(device_findings_, findings_.data(), tensors() * sizeof(Findings));
    device_->wait();
  }
  void download_findings() {
    device_->download(findings_.data(), device_findings_, tensors() * sizeof(Findings));
  }

  /// Of one decode: what its kernels found wrong. @throws PayloadError
  void clear_problem() { device_->zero(problem_, sizeof *problem_); }
  std::uint32_t found_problem() {
    std::uint32_t problem = 0;
    device_->download(&problem, problem_, sizeof problem);
    device_->wait();
    return problem;
  }

  std::shared_ptr<Device> device_;
  std::vector<StateIdentity> identities_;
  DeviceMemoryOptions memory_;
  std::vector<Job> jobs_;
  std::vector<Findings> findings_;
  std::vector<EncodeReport> reports_;
  Batch batch_;
  Job* device_jobs_ = nullptr;
  Findings* device_findings_ = nullptr;
  std::uint32_t* problem_ = nullptr;

 private:
  bool has_flag() const { return memory_.kind != DeviceMemoryOptions::Kind::kMomentum; }

  /// What stays the same in all steps, of every method.
  Job job_of(std::size_t tensor) {
    using Kind = DeviceMemoryOptions::Kind;
    const std::size_t n = identities_[tensor].elements;
    Job job;
    job.n = static_cast<std::uint32_t>(n);
    if (memory_.kind != Kind::kNone) job.r = array<float>(n);
    if (memory_.kind == Kind::kMomentum) job.u = array<float>(n);
    job.decay = memory_.kind == Kind::kResidual ? memory_.decay : 1;
    job.momentum = memory_.momentum;
    job.nesterov = memory_.nesterov;
    job.masking = memory_.masking;
    job.block_sums = array<double>(2 * (tiles_of(job.n, kSumTile) + kMomentPartials));
    for (PrefixState*& states : job.states) states = array<PrefixState>(tiles_of(job.n, kTile));
    job.findings = device_findings_ + tensor;
    return job;
  }
  std::size_t state_size(std::size_t tensor) const {
    const Job& job = jobs_[tensor];
    const std::size_t floats = (job.u == nullptr ? 0 : 1) + (job.r == nullptr ? 0 : 1);
    return (has_flag() ? 1 : 0) + floats * job.n * sizeof(float) + learned_size();
  }
};

}  // namespace thinpipe::cuda
