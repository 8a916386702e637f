// Common base of sparse and dense methods on the GPU: tensors, memories, checkpoints, and steps
// that are repeated as CUDA graphs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/device/device_compressor.h"
#include "compressors/cuda/device/makers.h"
#include "compressors/cuda/encode/device_decodes.h"
#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/wire/bytes.h"
#include "compressors/wire/states.h"

namespace thinpipe::cuda {

/// A compressor's device work in one step. Every step launches the same kernels with the same
/// arguments, because all values that change are in the jobs, which kernels read from memory. A
/// CUDA graph starts these kernels sooner than single launches would. For small tensors, launches
/// take most of the time.
template <class Device>
class Repeated {
 public:
  /// Runs the work that `enqueue` enqueues: directly the first time, captured and launched the
  /// second time, and from then on by launching the captured graph.
  /// @param kind  calls of equal kind enqueue equal work
  void run(Device& device, std::uint64_t kind, const auto& enqueue) {
    if (!device.can_record()) return enqueue();
    Kind* const known = find(kind);
    if (known == nullptr) {
      if (kinds_.size() < kMaxKinds) kinds_.push_back({kind, false, std::nullopt});
      return enqueue();
    }
    if (!known->tried) {
      known->tried = true;
      known->recording = device.record(enqueue);
    }
    if (!known->recording) return enqueue();
    device.repeat(*known->recording, enqueue);
  }

 private:
  struct Kind {
    std::uint64_t number;
    bool tried;
    std::optional<typename Device::Recording> recording;  ///< empty if the capture failed
  };
  /// A limit, because a schedule of ratios or stages may produce many graphs, which take memory.
  static constexpr std::size_t kMaxKinds = 16;

  Kind* find(std::uint64_t number) {
    for (Kind& kind : kinds_)
      if (kind.number == number) return &kind;
    return nullptr;
  }

  std::vector<Kind> kinds_;
};

/// Sets Job::scale to the factor that limits the gradient's L2 norm (memory/memory.cc).
struct FitClip {
  Job* jobs;
  const Findings* first;  ///< of the first job; findings are in the order of jobs
  double limit;

  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    const double norm = std::sqrt(totals.squares);
    jobs[job.findings - first].scale = norm > limit ? static_cast<float>(limit / norm) : 1.0F;
  }
};
using FindClip = AddUp<Reading::kGradient, Of::kAll, FitClip, SquareSums>;

/// Options of an error-feedback memory; compressors/memory/memory.h has the rules.
struct DeviceMemoryOptions {
  enum class Kind { kNone, kResidual, kMomentum, kEf21 } kind = Kind::kResidual;
  float decay = 1;
  bool clears = false;  ///< memory=clear
  float momentum = 0;
  bool nesterov = false;
  bool masking = true;
  double limit = 0;          ///< of the gradient's L2 norm; 0: none
  std::uint64_t period = 1;  ///< steps that are accumulated for one exchange

  bool is_buffered() const { return kind != Kind::kNone || limit > 0 || period > 1; }
};

/// Most bytes of a payload, which kernels count in 32 bits.
inline constexpr std::size_t kMaxPayload = 0xffffff00;

/// Allocates all device memory in its constructor.
template <class Device>
class DeviceBase : public DeviceCompressor {
 public:
  std::size_t tensors() const override { return identities_.size(); }

  const std::byte* device_payload(std::size_t tensor) const override {
    return reinterpret_cast<const std::byte*>(jobs_[tensor].payload);
  }

  void hold(std::span<const float* const> device_gradients) override {
    if (memory_.period == 1)
      throw std::logic_error("hold() of compressors that exchange in every step");
    check_gradients(device_gradients.size());
    for (std::size_t i = 0; i < jobs_.size(); ++i) jobs_[i].g = device_gradients[i];
    ready_sums(true);
    send_jobs();
    batch_.launch_sum_tiles<HoldGradients>(*device_);
    device_->wait();
  }

  void begin_decode(std::size_t tensor, const std::byte* device_payload, std::size_t bytes,
                    float factor, float* device_out) override {
    if (const std::string what = unfit(tensor, bytes); !what.empty()) {
      finish_decodes();
      throw PayloadError("tensor '" + identities_[tensor].tensor + "': " + what);
    }
    if (decodes_.is_full()) finish_decodes();
    if (decodes_.has_next(tensor)) start_decodes();
    DecodeJob job{.payload = {.words = reinterpret_cast<const std::uint32_t*>(device_payload),
                              .bytes = static_cast<std::uint32_t>(bytes),
                              .n = jobs_[tensor].n,
                              .value_size = jobs_[tensor].values},
                  .tensor = static_cast<std::uint32_t>(tensor),
                  .factor = factor,
                  .out = device_out};
    DecodePlan plan;
    plan_decode(job, plan);
    decodes_.add(job, plan);
  }
  void start_decodes() override {
    if (decodes_.has_next()) launch_decodes(decodes_.next());
  }
  void finish_decodes() override {
    start_decodes();
    if (decodes_.is_empty()) return;
    for (const auto& done : decodes_.finish())
      if (done.problem != 0)
        throw PayloadError("tensor '" + identities_[done.tensor].tensor +
                           "': " + problem_of(done.problem, done.tensor, done.bytes));
  }

  void reset() override {
    for (const Job& job : jobs_) {
      // An array that only holds this step's sum is not cleared, as in NoMemory.
      const bool is_memory = job.keeps || job.h != nullptr;
      if (is_memory) device_->zero(job.r, job.n * sizeof(float));
      for (float* other : {job.u, job.h})
        if (other != nullptr) device_->zero(other, job.n * sizeof(float));
    }
    held_.assign(tensors(), false);
    set_summed(false);
    part_.reset(*device_);
    device_->wait();  // the device may still write findings
    std::fill(findings_.begin(), findings_.end(), part_.initial());
    device_->upload(device_findings_, findings_.data(), tensors() * sizeof(Findings));
    device_->wait();
  }

  void save_state(std::size_t tensor, std::vector<std::byte>& state) override {
    const Job& job = jobs_[tensor];
    ByteWriter out = begin_state(identities_[tensor], state_size(tensor), state);
    if (has_flag()) out.put<std::uint8_t>(held_[tensor] ? 1 : 0);
    for (const float* device_floats : {job.u, job.h, job.r})
      if (device_floats != nullptr) save_device_floats(*device_, device_floats, job.n, out);
    part_.save(*device_, tensor, out);
  }
  void load_state(std::size_t tensor, std::span<const std::byte> state) override {
    const Job& job = jobs_[tensor];
    ByteReader in = open_state(identities_[tensor], state_size(tensor), state);
    if (has_flag()) held_[tensor] = load_flag(in, "held");
    set_summed(false);
    const auto get = [&](float* device_floats, const char* what) {
      if (device_floats != nullptr) load_device_floats(*device_, device_floats, job.n, in, what);
    };
    get(job.u, "velocity");
    get(job.h, "estimate");
    get(job.r, job.u != nullptr ? "accumulated velocity"
               : job.keeps      ? "residual"
                                : "accumulated gradient");
    part_.load(*device_, tensor, in);
  }

 protected:
  /// @param part  the method's; a derived class owns it
  DeviceBase(std::shared_ptr<Device> device, std::vector<StateIdentity> identities,
             const DeviceMemoryOptions& memory, DevicePart<Device>& part)
      : device_(std::move(device)),
        identities_(std::move(identities)),
        memory_(memory),
        held_(tensors(), false),
        jobs_(host_array<Job>(*device_, tensors())),
        findings_(host_array<Findings>(*device_, tensors())),
        reports_(tensors()),
        part_(part),
        decodes_(device_, tensors()) {}

  /// Allocates device memory for all tensors.
  /// @param add   add(tensor, job) allocates a tensor's further workspace
  /// @param tile  elements of a tile
  /// @throws InputError for tensors whose payloads may be too long
  void allocate(auto add, std::uint32_t tile = kTile) {
    for (std::size_t i = 0; i < tensors(); ++i)
      if (max_encoded_size(i) > kMaxPayload)
        throw InputError("tensor '" + identities_[i].tensor + "': payloads of up to " +
                         std::to_string(max_encoded_size(i)) + " bytes with device=cuda; at most " +
                         std::to_string(kMaxPayload) + " fit");
    device_jobs_ = device_array<Job>(*device_, tensors());
    device_findings_ = device_array<Findings>(*device_, tensors());
    for (std::size_t i = 0; i < tensors(); ++i) {
      jobs_[i] = job_of(i);
      add(i, jobs_[i]);
    }
    batch_ = make_batch(*device_, jobs_, tile);
    batch_.jobs = device_jobs_;
  }

  void check_gradients(std::size_t found) const {
    if (found == tensors()) return;
    throw InputError("gradients of " + std::to_string(found) + " tensors; expected " +
                     std::to_string(tensors()));
  }
  /// Runs a step's work on the device: the first time directly, from the second time on as a
  /// captured graph. The work that `enqueue` enqueues must depend only on the batch's `fits` and
  /// `choices` and on is_summed(), because the graph repeats it with the same arguments. The work
  /// must not contain host values that change from step to step.
  /// @param round  number of the all-reduce round; 0: encode()
  void repeat(const auto& enqueue, int round = 0) {
    const std::uint64_t counts = std::uint64_t{batch_.fits} << 32 | batch_.choices;
    const auto kind = static_cast<std::uint64_t>(2 * round + (is_summed() ? 1 : 0));
    repeated_.run(*device_, counts << 3 | kind, enqueue);
  }
  /// Uploads the jobs of a step with an exchange, whose kernels then update the memories.
  void upload_jobs() {
    ready_sums(false);
    send_jobs();
  }
  /// Records whether the memories already contain the gradients of the next upload_jobs(). Must not
  /// be called while an upload is pending: the device reads the jobs from pinned memory.
  void set_summed(bool summed) {
    for (Job& job : jobs_) job.summed = summed;
  }
  bool is_summed() const { return !jobs_.empty() && jobs_.front().summed; }
  /// Sets the job fields that the memories' updates read.
  void ready_sums(bool holds) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      Job& job = jobs_[i];
      job.holds = holds;
      job.anew = !job.keeps && !held_[i];
      // The decay applies once per period.
      job.decay = held_[i] ? 1 : memory_.decay;
      held_[i] = holds && has_flag();
    }
  }
  /// Uploads jobs whose gradients are set, and clips the gradients.
  void send_jobs() {
    device_->upload(device_jobs_, jobs_.data(), tensors() * sizeof(Job));
    if (memory_.limit == 0 || is_summed()) return;
    batch_.launch_sum_tiles<FindClip>(*device_,
                                      FitClip{device_jobs_, device_findings_, memory_.limit});
  }
  void download_findings() {
    device_->download(findings_.data(), device_findings_, tensors() * sizeof(Findings));
  }

  /// Returns why no payload of the tensor has this length; empty if some do.
  virtual std::string unfit(std::size_t tensor, std::size_t bytes) const = 0;
  /// Sets the job fields, blocks and workspace of the kernels for a payload of the tensor.
  virtual void plan_decode(DecodeJob& job, DecodePlan& plan) = 0;
  virtual void launch_decodes(const DecodeBatch& batch) = 0;
  /// Returns the message for a problem found by kernels. `number` is not 0.
  virtual std::string problem_of(std::uint32_t number, std::size_t tensor,
                                 std::size_t bytes) const = 0;

  std::shared_ptr<Device> device_;
  std::vector<StateIdentity> identities_;
  DeviceMemoryOptions memory_;
  std::vector<bool> held_;  ///< by tensor: its memory has accumulated gradients of this period
  std::span<Job> jobs_;
  std::span<Findings> findings_;
  std::vector<EncodeReport> reports_;
  Batch batch_;
  Job* device_jobs_ = nullptr;
  Findings* device_findings_ = nullptr;

 private:
  DevicePart<Device>& part_;
  Repeated<Device> repeated_;
  DecodeQueue<Device> decodes_;

  bool has_flag() const { return memory_.kind != DeviceMemoryOptions::Kind::kMomentum; }

  /// Job fields that stay the same in all steps, for every method.
  Job job_of(std::size_t tensor) {
    using Kind = DeviceMemoryOptions::Kind;
    const std::size_t n = identities_[tensor].elements;
    Job job;
    job.n = static_cast<std::uint32_t>(n);
    if (memory_.is_buffered()) job.r = device_array<float>(*device_, n);
    if (memory_.kind == Kind::kMomentum) job.u = device_array<float>(*device_, n);
    if (memory_.kind == Kind::kEf21) job.h = device_array<float>(*device_, n);
    job.keeps = memory_.kind == Kind::kResidual || memory_.kind == Kind::kMomentum;
    job.clears = memory_.clears;
    job.momentum = memory_.momentum;
    job.nesterov = memory_.nesterov;
    job.masking = memory_.masking;
    allocate_workspace(*device_, job);
    job.findings = device_findings_ + tensor;
    return job;
  }
  std::size_t state_size(std::size_t tensor) const {
    const Job& job = jobs_[tensor];
    std::size_t floats = 0;
    for (const float* one : {job.u, job.h, job.r}) floats += one == nullptr ? 0 : 1;
    return (has_flag() ? 1 : 0) + floats * job.n * sizeof(float) + part_.state_size(tensor);
  }
};

}  // namespace thinpipe::cuda
