// A simulated GPU that runs one thread after the other, up to the next barrier. It tests without a
// GPU how a kernel's blocks and threads cooperate. Copies are made as early or as late as a GPU may
// make them.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/splitmix64.h"
#include "compressors/cuda/device/device_memory.h"
#include "compressors/cuda/grid/host_device.h"
#include "compressors/cuda/kernels/prefix.h"

namespace thinpipe::cuda {

/// One simulated block of `kThreads` threads. Kernels run on this class and on CudaBlock, which has
/// the same functions. A kernel passes the code between two barriers to one call of each(). A
/// variable that a thread keeps across a barrier must be a Local.
template <int kThreads>
class SerialBlock {
 public:
  static constexpr int kSize = kThreads;
  static_assert(kThreads % kWarpThreads == 0);

  /// A variable of which every thread has its own copy.
  template <class T>
  class Local {
   public:
    T& operator[](int thread) { return values_[static_cast<std::size_t>(thread)]; }

   private:
    std::array<T, kThreads> values_{};
  };

  /// @param order  in which threads run between barriers, kThreads numbers; a kernel whose result
  ///               depends on the order has a race
  SerialBlock(unsigned index, const int* order) : index_(index), order_(order) {}

  unsigned index() const { return index_; }
  /// Makes index() count from block `first`, for grids that work on several jobs.
  void count_from(unsigned first) { index_ -= first; }

  /// Calls body(thread) in all threads, then waits for all of them.
  void each(auto body) {
    for (int i = 0; i < kThreads; ++i) body(order_[i]);
  }

  /// As each(), without waiting at the end: until the next barrier, threads must not read what
  /// others write in `body`.
  void each_alone(auto body) { each(body); }

  // Collective operations of all threads. Each waits for all threads before and after.

  /// Returns the maximum of x over all threads.
  std::uint32_t greatest(Local<std::uint32_t>& x) {
    std::uint32_t most = x[0];
    for (int thread = 1; thread < kThreads; ++thread) most = std::max(most, x[thread]);
    return most;
  }
  /// Returns the sum of x over all threads.
  std::uint32_t sum(Local<std::uint32_t>& x) {
    std::uint32_t total = 0;
    for (int thread = 0; thread < kThreads; ++thread) total += x[thread];
    return total;
  }
  /// Replaces x by its exclusive prefix sum over the threads. @returns the sum over all threads
  std::uint32_t prefix(Local<std::uint32_t>& x) {
    std::uint32_t before = 0;
    for (int thread = 0; thread < kThreads; ++thread)
      x[thread] = std::exchange(before, before + x[thread]);
    return before;
  }
  /// Sets rows[j] to the ballot of bit j of the flags: one bit for each thread of the warp, lowest
  /// bit first. All threads of a warp get the same rows.
  template <class Rows>
  void ballots(Local<std::uint32_t>& flags, Local<Rows>& rows) {
    for (int begin = 0; begin < kThreads; begin += kWarpThreads) {
      Rows of_warp{};
      for (int lane = 0; lane < kWarpThreads; ++lane) {
        for (unsigned j = 0; j < Rows::kSize; ++j)
          of_warp.words[j] |= (flags[begin + lane] >> j & 1) << lane;
      }
      for (int lane = 0; lane < kWarpThreads; ++lane) rows[begin + lane] = of_warp;
    }
  }
  /// Returns the joined counts (sum or maximum) of all tiles before `tile`. The counts of `tile`
  /// itself are `own`.
  /// @param states  one for each tile of the tensor, all kNothing before the first block runs;
  /// blocks of a lower index start first
  template <Joined joined = Joined::kSum>
  Counts before(PrefixState* states, std::uint32_t tile, Counts own) {
    Counts counts;
    if (tile > 0) {
      if (kind_of(states[tile - 1]) != PrefixKind::kAll)
        throw std::logic_error("a tile ran before its predecessor");
      counts = counts_of(states[tile - 1]);
    }
    states[tile] = prefix_state(PrefixKind::kAll, join<joined>(counts, own));
    return counts;
  }
  /// Returns true only in the last of `blocks` blocks that call this function. This last block then
  /// sees the writes of all blocks. The counter `arrived` is 0 before the first call and after the
  /// last one.
  bool is_last(std::uint32_t* arrived, std::uint32_t blocks) {
    if (++*arrived < blocks) return false;
    *arrived = 0;
    return true;
  }

  // Atomic operations, which threads of all blocks may use on the same word. @returns the previous
  // value
  std::uint32_t add(std::uint32_t* to, std::uint32_t value) {
    return std::exchange(*to, *to + value);
  }
  void set_greatest(std::uint32_t* to, std::uint32_t value) { *to = std::max(*to, value); }
  std::uint32_t set_bits(std::uint32_t* to, std::uint32_t bits) {
    return std::exchange(*to, *to | bits);
  }

 private:
  unsigned index_;
  const int* order_;
};

/// Runs kernels on SerialBlock, one block after the other.
class SerialSimulator {
 public:
  explicit SerialSimulator(std::uint64_t seed) : random_(seed) {}

  template <class Kernel>
  void run(const Kernel& kernel, std::size_t blocks) {
    const auto shared = std::make_unique<typename Kernel::Shared>();
    for (std::size_t i = 0; i < blocks; ++i) {
      // On a GPU, shared memory starts with values of other blocks.
      std::memset(static_cast<void*>(shared.get()), kGarbage, sizeof *shared);
      SerialBlock<Kernel::kThreads> block(static_cast<unsigned>(i), draw_order(Kernel::kThreads));
      kernel(block, *shared);
    }
  }

 private:
  /// Returns one of kOrders random orders of a block's threads. They are drawn once: drawing an
  /// order for each block would take longer than many kernels do.
  const int* draw_order(int threads) {
    constexpr std::size_t kOrders = 32;
    std::vector<int>& orders = orders_[threads];
    if (orders.empty()) {
      for (std::size_t i = 0; i < kOrders; ++i) {
        for (int thread = 0; thread < threads; ++thread) {
          orders.push_back(thread);
          std::swap(orders.back(), orders[orders.size() - 1 - random_.below(thread + 1U)]);
        }
      }
    }
    return orders.data() + random_.below(kOrders) * static_cast<std::size_t>(threads);
  }

  SplitMix64 random_;
  std::map<int, std::vector<int>> orders_;  ///< by the number of threads in a block
};

using SerialDevice = HostDevice<SerialSimulator>;

/// A copy ends after several calls of ended(), or when the host waits for it. The random seed
/// decides when its bytes move. A download moves its bytes as early as its stream allows, or after
/// all work that was enqueued before the copy ended. An upload moves its bytes at the end, or at
/// once, regardless of pending device work; in the second case neither side may change before the
/// copy ends. A caller that reads bytes before they arrive therefore gets wrong bytes. A caller
/// that overwrites bytes too early sends wrong bytes.
class SerialCopies : public DeviceCopies {
 public:
  /// @param busy_polls  how often ended() returns false for a copy
  explicit SerialCopies(std::shared_ptr<SerialDevice> device, int busy_polls = 2)
      : device_(std::move(device)), busy_polls_(busy_polls) {}

  void use_in_this_thread() override {}
  std::size_t begin_downloads(std::span<const DeviceCopy> copies) override {
    const std::lock_guard lock(device_->stream().mutex());
    const std::size_t number = begin({copies.begin(), copies.end()}, false);
    for (const DeviceCopy& copy : copies) spoil(copy);
    return number;
  }
  std::size_t begin_upload(const DeviceCopy& copy) override {
    const std::lock_guard lock(device_->stream().mutex());
    const std::size_t number = begin({copy}, true);
    if (all_[number]->early) {
      make(copy);
    } else {
      spoil(copy);
    }
    return number;
  }
  void join(std::size_t number) override {
    const std::lock_guard lock(device_->stream().mutex());
    std::shared_ptr<UnderWay> one = under_way(number);
    if (!one->joined) one->joined = device_->stream().enqueued();
    device_->stream().enqueue([this, one = std::move(one)] { end(*one); });
  }
  bool ended(std::size_t number) override {
    const std::lock_guard lock(device_->stream().mutex());
    UnderWay& one = *under_way(number);
    if (one.busy_polls-- > 0) return false;
    end(one);
    return true;
  }
  double take(std::size_t number) override {
    const std::lock_guard lock(device_->stream().mutex());
    const std::shared_ptr<UnderWay> one = under_way(number);
    end(*one);
    all_[number] = nullptr;
    return one->seconds;
  }

 private:
  struct UnderWay {
    std::vector<DeviceCopy> copies;
    bool up = false, early = false;
    std::uint64_t enqueued = 0;           ///< device work before this copy
    std::optional<std::uint64_t> joined;  ///< device work before the join()
    int busy_polls = 0;
    double seconds = 0;
  };

  std::size_t begin(std::vector<DeviceCopy> copies, bool up) {
    std::size_t number = 0;
    while (number < all_.size() && all_[number]) ++number;
    if (number == all_.size()) all_.emplace_back();
    all_[number] = std::make_shared<UnderWay>(UnderWay{.copies = std::move(copies),
                                                       .up = up,
                                                       .early = device_->stream().either(),
                                                       .enqueued = device_->stream().enqueued(),
                                                       .joined = std::nullopt,
                                                       .busy_polls = busy_polls_});
    return number;
  }
  std::shared_ptr<UnderWay> under_way(std::size_t number) {
    if (number >= all_.size() || !all_[number]) throw std::logic_error("the copy is not pending");
    return all_[number];
  }
  void end(UnderWay& one) {
    if (one.copies.empty()) return;
    SerialStream& stream = device_->stream();
    if (!one.up)
      stream.run_until(one.early ? one.enqueued : one.joined.value_or(stream.enqueued()));
    const auto begin = std::chrono::steady_clock::now();
    for (const DeviceCopy& copy : std::exchange(one.copies, {})) {
      if (one.up && one.early) {
        check(copy);
      } else {
        make(copy);
      }
    }
    one.busy_polls = 0;
    one.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  static void make(const DeviceCopy& copy) {
    if (copy.bytes > 0) std::memcpy(copy.to, copy.from, copy.bytes);
  }
  static void spoil(const DeviceCopy& copy) {
    if (copy.bytes > 0) std::memset(copy.to, kGarbage, copy.bytes);
  }
  static void check(const DeviceCopy& copy) {
    if (copy.bytes > 0 && std::memcmp(copy.to, copy.from, copy.bytes) != 0)
      throw std::logic_error("memory changed while it was being copied");
  }

  std::shared_ptr<SerialDevice> device_;
  int busy_polls_;
  std::vector<std::shared_ptr<UnderWay>> all_;
};

}  // namespace thinpipe::cuda
