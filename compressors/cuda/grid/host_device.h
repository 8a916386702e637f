// A simulated GPU on the CPU: its memory, its stream, and kernels that run at the latest when the
// host waits for them.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeindex>
#include <utility>
#include <vector>

#include "base/splitmix64.h"
#include "compressors/cuda/device/device_memory.h"

namespace thinpipe::cuda {

/// Runs enqueued work in order: at random moments, and at the latest when the host waits for it. A
/// host that reads results or changes inputs too early therefore gets other results than on a
/// device that runs all work immediately. Thread-safe.
class SerialStream {
 public:
  using Work = std::function<void()>;

  explicit SerialStream(std::uint64_t seed) : random_(seed) {}

  void enqueue(Work work) {
    const std::lock_guard lock(mutex_);
    queued_.push_back(std::move(work));
    // A GPU may also have finished all enqueued work by now.
    constexpr std::uint64_t kOneOf = 8;
    if (random_.below(kOneOf) == 0) run_until(enqueued());
  }
  /// Returns how many operations have been enqueued.
  std::uint64_t enqueued() {
    const std::lock_guard lock(mutex_);
    return begun_ + queued_.size();
  }
  bool is_idle() {
    const std::lock_guard lock(mutex_);
    return queued_.empty();
  }
  /// Runs the first `number` enqueued operations.
  void run_until(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    while (begun_ < number && !queued_.empty()) {
      const Work work = std::move(queued_.front());
      queued_.pop_front();
      ++begun_;
      work();  // may call run_until() again, for earlier work
    }
  }
  void run() { run_until(enqueued()); }
  /// Returns a random choice between two behaviours of hardware.
  bool either() {
    const std::lock_guard lock(mutex_);
    return random_.below(2) == 0;
  }
  /// For operations outside of the stream, which lock it around their work. Recursive.
  std::recursive_mutex& mutex() { return mutex_; }

 private:
  std::recursive_mutex mutex_;
  SplitMix64 random_;
  std::deque<Work> queued_;
  std::uint64_t begun_ = 0;
};

/// Fill byte of memory that is unwritten or the target of a pending copy.
constexpr unsigned char kGarbage = 0xa5;

/// A simulated GPU. Tests run compressors on this class and on CudaDevice, which has the same
/// functions. Enqueued work waits in a SerialStream, as it would in a GPU's stream.
/// @tparam Simulator  runs kernels by run(kernel, blocks); its constructor takes a seed
template <class Simulator>
class HostDevice : public DeviceMemory, public DeviceClock {
 public:
  /// @param seed  of the order in which threads run, and of when enqueued work runs
  explicit HostDevice(std::uint64_t seed = 1) : simulator_(seed), stream_(~seed) {}

  void* allocate(std::size_t bytes) override {
    forbid_while_recording("memory allocation");
    ++did_.allocations;
    memory_.emplace_back(bytes + 1, std::byte{kGarbage});
    std::byte* const memory = memory_.back().data();
    zero(memory, bytes);
    return memory;
  }
  void* allocate_host(std::size_t bytes) override {
    forbid_while_recording("memory allocation");
    ++did_.allocations;
    memory_.emplace_back(bytes + 1);
    pinned_[memory_.back().data()] = bytes;
    return memory_.back().data();
  }
  std::size_t free_bytes() override { return std::size_t{1} << 40; }
  std::uint32_t processors() const { return 2; }  ///< few, so that parts have several tiles
  void upload(void* to, const void* from, std::size_t bytes) override {
    if (is_pinned(from, bytes)) return move(to, from, bytes);
    // Memory that is not pinned is read at once.
    forbid_while_recording("an upload from memory that is not pinned");
    const auto* const first = static_cast<const std::byte*>(from);
    stream_.enqueue([this, to, staged = std::vector<std::byte>(first, first + bytes)] {
      ++did_.copies;
      std::copy(staged.begin(), staged.end(), static_cast<std::byte*>(to));
    });
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    const bool pinned = is_pinned(to, bytes);
    if (!pinned) forbid_while_recording("a download to memory that is not pinned");
    if (recording_ == nullptr && bytes > 0) std::memset(to, kGarbage, bytes);
    move(to, from, bytes);
    if (!pinned) stream_.run();  // such a copy is synchronous
  }
  void copy(void* to, const void* from, std::size_t bytes) override { move(to, from, bytes); }
  void zero(void* at, std::size_t bytes) override {
    enqueue(typeid(int), bytes, [this, at, bytes] {
      ++did_.copies;
      if (bytes > 0) std::memset(at, 0, bytes);
    });
  }
  /// Launches a kernel on `blocks` thread blocks.
  template <class Kernel>
  void launch(const Kernel& kernel, std::size_t blocks) {
    enqueue(typeid(Kernel), blocks, [this, kernel, blocks] {
      if (blocks == 0) return;
      ++did_.launches;
      simulator_.run(kernel, blocks);
    });
  }

  /// Counts of operations that have run.
  struct Did {
    std::size_t launches = 0;  ///< of kernels with at least one block
    std::size_t copies = 0;    ///< including zero()
    std::size_t allocations = 0;
  };
  const Did& did() const { return did_; }

  /// An enqueued operation: its kind, its size, and the function that runs it.
  struct Operation {
    std::type_index what;
    std::size_t size;
    SerialStream::Work run;
  };
  using Recording = std::vector<Operation>;

  bool can_record() const { return true; }
  /// Captures the work that `enqueue` enqueues, without running it.
  std::optional<Recording> record(const auto& enqueue) {
    Recording recording;
    recording_ = &recording;
    try {
      enqueue();
    } catch (...) {
      recording_ = nullptr;
      throw;
    }
    recording_ = nullptr;
    return recording;
  }
  /// Enqueues captured work, with the arguments that it had when it was captured.
  /// @throws std::logic_error if `enqueue` would enqueue other work now
  void repeat(const Recording& recording, const auto& enqueue) {
    const std::optional<Recording> now = record(enqueue);
    const auto same = [](const Operation& a, const Operation& b) {
      return a.what == b.what && a.size == b.size;
    };
    if (!std::equal(recording.begin(), recording.end(), now->begin(), now->end(), same))
      throw std::logic_error("the work differs from the captured graph");
    for (const Operation& one : recording) stream_.enqueue(one.run);
    ++repeats_;
  }
  /// Returns how often captured work was repeated.
  std::size_t repeats() const { return repeats_; }

  void wait() override {
    const Turn turn(busy_);
    std::this_thread::yield();  // lets Turn find other threads that use the stream
    forbid_while_recording("a wait for the device");
    if (mark_of_waits_) mark(*mark_of_waits_);
    stream_.run();
  }

  void mark(std::size_t number) override {
    if (marks_.size() <= number) marks_.resize(number + 1);
    const bool idle = stream_.is_idle();
    stream_.enqueue([this, number] { marks_[number] = std::chrono::steady_clock::now(); });
    if (idle) stream_.run();  // an event on an idle GPU is reached at once
  }
  void mark_waits(std::optional<std::size_t> number) override { mark_of_waits_ = number; }
  double seconds(std::size_t from, std::size_t to) override {
    stream_.run();
    return std::chrono::duration<double>(marks_.at(to) - marks_.at(from)).count();
  }
  void wait_for_all() override { stream_.run(); }

  SerialStream& stream() { return stream_; }

 private:
  /// Detects two threads that use the stream at the same time.
  class Turn {
   public:
    explicit Turn(std::atomic<bool>& busy) : busy_(busy) {
      if (busy_.exchange(true)) throw std::logic_error("another thread is using the stream");
    }
    ~Turn() { busy_ = false; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::atomic<bool>& busy_;
  };

  void move(void* to, const void* from, std::size_t bytes) {
    enqueue(typeid(void), bytes, [this, to, from, bytes] {
      ++did_.copies;
      if (bytes > 0) std::memcpy(to, from, bytes);
    });
  }
  void enqueue(std::type_index what, std::size_t size, auto run) {
    const Turn turn(busy_);
    if (recording_ == nullptr) return stream_.enqueue(std::move(run));
    recording_->push_back({what, size, std::move(run)});
  }
  /// @throws std::logic_error during a capture, in which CUDA refuses the operation or handles it
  /// differently
  void forbid_while_recording(const char* what) const {
    if (recording_ != nullptr) throw std::logic_error(std::string(what) + " during graph capture");
  }
  bool is_pinned(const void* at, std::size_t bytes) const {
    const auto* const first = static_cast<const std::byte*>(at);
    auto after = pinned_.upper_bound(first);
    if (after == pinned_.begin()) return false;
    --after;
    return first + bytes <= after->first + after->second;
  }

  Simulator simulator_;
  std::atomic<bool> busy_ = false;
  Recording* recording_ = nullptr;  ///< during a capture
  std::size_t repeats_ = 0;
  Did did_;
  std::vector<std::vector<std::byte>> memory_;
  std::map<const std::byte*, std::size_t, std::less<>> pinned_;  ///< allocations and their bytes
  std::vector<std::chrono::steady_clock::time_point> marks_;
  std::optional<std::size_t> mark_of_waits_;
  SerialStream stream_;
};

}  // namespace thinpipe::cuda
