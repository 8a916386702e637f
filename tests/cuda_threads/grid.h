// Simulated GPU threads, each on its own stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace thinpipe::cuda::simulated {

/// Warp operations. All lanes must do the same one.
enum class Together : std::uint32_t { kBallot, kMax, kSum, kShuffle, kShuffleUp };

/// A grid of thread blocks. Threads run until they wait for each other, in an order that is drawn
/// again each time. Several blocks run at a time, the lower ones first, as on a GPU. Not
/// thread-safe.
class Grid {
 public:
  explicit Grid(std::uint64_t seed);
  ~Grid();

  /// Calls body(shared) in all threads of all blocks, and returns when all have ended.
  /// @param shared_bytes  size of a block's shared memory, which is aligned to 16 bytes and starts
  ///                      as garbage
  /// @throws std::logic_error if threads wait for threads that never arrive, or if lanes of a warp
  /// do
  ///         different warp operations
  void run(unsigned blocks, int threads, std::size_t shared_bytes,
           const std::function<void(std::byte* shared)>& body);

  // Within body: the index of the calling thread and of its block.
  static unsigned block();
  static unsigned thread();
  /// Waits for all threads of the block.
  static void wait();
  /// Lets other threads run, in a loop that waits for a value in memory.
  static void let_others();
  /// Exchanges a value with all lanes of the warp. @returns the 32 values
  static const std::uint32_t* exchange(Together what, std::uint32_t value);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thinpipe::cuda::simulated
