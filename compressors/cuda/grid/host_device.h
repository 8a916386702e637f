// A processor that plays a GPU: its memory, and kernels that run when somebody waits for them.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeindex>
#include <utility>
#include <vector>

#include "compressors/cuda/device/device_clock.h"
#include "compressors/cuda/device/device_memory.h"
#include "compressors/cuda/grid/serial_stream.h"

namespace thinpipe::cuda {

/// Fill byte of memory that is unwritten or being written to.
constexpr unsigned char kGarbage = 0xa5;

/// Tests run compressors on it and on CudaDevice, which has the same functions. Its requests wait
/// in a SerialStream, as in a GPU's stream.
/// @tparam Player  plays kernels: play(kernel, blocks), with a constructor that takes a seed
template <class Player>
class HostDevice : public DeviceMemory, public DeviceClock {
 public:
  /// @param seed  of the order in which threads take turns, and of what is done when
  explicit HostDevice(std::uint64_t seed = 1) : player_(seed), stream_(~seed) {}

  void* allocate(std::size_t bytes) override {
    forbid_while_recording("memory is allocated");
    ++did_.allocations;
    memory_.emplace_back(bytes + 1, std::byte{kGarbage});
    std::byte* const memory = memory_.back().data();
    zero(memory, bytes);
    return memory;
  }
  void* allocate_host(std::size_t bytes) override {
    forbid_while_recording("memory is allocated");
    ++did_.allocations;
    memory_.emplace_back(bytes + 1);
    pinned_[memory_.back().data()] = bytes;
    return memory_.back().data();
  }
  std::size_t free_bytes() override { return std::size_t{1} << 40; }
  void upload(void* to, const void* from, std::size_t bytes) override {
    if (is_pinned(from, bytes)) return move(to, from, bytes);
    // It is read at once from memory that is not pinned.
    forbid_while_recording("memory is read that is not pinned");
    const auto* const first = static_cast<const std::byte*>(from);
    stream_.ask([this, to, staged = std::vector<std::byte>(first, first + bytes)] {
      ++did_.copies;
      std::copy(staged.begin(), staged.end(), static_cast<std::byte*>(to));
    });
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    const bool pinned = is_pinned(to, bytes);
    if (!pinned) forbid_while_recording("memory is written to that is not pinned");
    if (recording_ == nullptr && bytes > 0) std::memset(to, kGarbage, bytes);
    move(to, from, bytes);
    if (!pinned) stream_.run();  // nobody goes on before it is there
  }
  void copy(void* to, const void* from, std::size_t bytes) override { move(to, from, bytes); }
  void zero(void* at, std::size_t bytes) override {
    ask(typeid(int), bytes, [this, at, bytes] {
      ++did_.copies;
      if (bytes > 0) std::memset(at, 0, bytes);
    });
  }
  /// Runs a kernel on so many blocks.
  template <class Kernel>
  void launch(const Kernel& kernel, std::size_t blocks) {
    ask(typeid(Kernel), blocks, [this, kernel, blocks] {
      if (blocks == 0) return;
      ++did_.launches;
      player_.play(kernel, blocks);
    });
  }

  /// Counts of operations so far.
  struct Did {
    std::size_t launches = 0;  ///< of kernels on any blocks
    std::size_t copies = 0;    ///< likewise of zeros
    std::size_t allocations = 0;
  };
  const Did& did() const { return did_; }

  /// Something that was asked for: what, how much of it, and how it is done.
  struct Asked {
    std::type_index what;
    std::size_t size;
    SerialStream::Work run;
  };
  using Recording = std::vector<Asked>;

  bool can_record() const { return true; }
  /// Records the work that `ask` requests without doing it.
  template <class Ask>
  std::optional<Recording> record(const Ask& ask) {
    Recording recording;
    recording_ = &recording;
    try {
      ask();
    } catch (...) {
      recording_ = nullptr;
      throw;
    }
    recording_ = nullptr;
    return recording;
  }
  /// Does it, with the arguments that there were when it was recorded. @throws std::logic_error
  /// when `ask` would ask for something else now
  template <class Ask>
  void repeat(const Recording& recording, const Ask& ask) {
    const std::optional<Recording> now = record(ask);
    const auto same = [](const Asked& a, const Asked& b) {
      return a.what == b.what && a.size == b.size;
    };
    if (!std::equal(recording.begin(), recording.end(), now->begin(), now->end(), same))
      throw std::logic_error("other work than what was recorded");
    for (const Asked& asked : recording) stream_.ask(asked.run);
    ++repeats_;
  }
  /// How often something recorded was done.
  std::size_t repeats() const { return repeats_; }

  void wait() override {
    const Turn turn(busy_);
    std::this_thread::yield();  // who asks meanwhile is found out
    forbid_while_recording("the device is waited for");
    if (mark_of_waits_) mark(*mark_of_waits_);
    stream_.run();
  }

  void mark(std::size_t number) override {
    if (marks_.size() <= number) marks_.resize(number + 1);
    const bool idle = stream_.is_idle();
    stream_.ask([this, number] { marks_[number] = std::chrono::steady_clock::now(); });
    if (idle) stream_.run();  // what times a GPU sees that nothing was in the way
  }
  void mark_waits(std::optional<std::size_t> number) override { mark_of_waits_ = number; }
  double seconds(std::size_t from, std::size_t to) override {
    stream_.run();
    return std::chrono::duration<double>(marks_.at(to) - marks_.at(from)).count();
  }
  void wait_for_all() override { stream_.run(); }

  SerialStream& stream() { return stream_; }

 private:
  /// No stream is used by two threads at a time.
  class Turn {
   public:
    explicit Turn(std::atomic<bool>& busy) : busy_(busy) {
      if (busy_.exchange(true)) throw std::logic_error("a stream that another thread is using");
    }
    ~Turn() { busy_ = false; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::atomic<bool>& busy_;
  };

  void move(void* to, const void* from, std::size_t bytes) {
    ask(typeid(void), bytes, [this, to, from, bytes] {
      ++did_.copies;
      if (bytes > 0) std::memcpy(to, from, bytes);
    });
  }
  template <class Run>
  void ask(std::type_index what, std::size_t size, Run run) {
    const Turn turn(busy_);
    if (recording_ == nullptr) return stream_.ask(std::move(run));
    recording_->push_back({what, size, std::move(run)});
  }
  /// CUDA refuses it, or does something else with it.
  void forbid_while_recording(const char* what) const {
    if (recording_ != nullptr) throw std::logic_error(std::string(what) + " in recorded work");
  }
  bool is_pinned(const void* at, std::size_t bytes) const {
    const auto* const first = static_cast<const std::byte*>(at);
    auto after = pinned_.upper_bound(first);
    if (after == pinned_.begin()) return false;
    --after;
    return first + bytes <= after->first + after->second;
  }

  Player player_;
  std::atomic<bool> busy_ = false;
  Recording* recording_ = nullptr;  ///< while something is recorded
  std::size_t repeats_ = 0;
  Did did_;
  std::vector<std::vector<std::byte>> memory_;
  std::map<const std::byte*, std::size_t, std::less<>> pinned_;  ///< bytes of each allocation
  std::vector<std::chrono::steady_clock::time_point> marks_;
  std::optional<std::size_t> mark_of_waits_;
  SerialStream stream_;
};

}  // namespace thinpipe::cuda
