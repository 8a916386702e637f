// A GPU's threads, each of which a processor plays on a stack of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace thinpipe::cuda::played {

/// Operations of a whole warp. All lanes must do the same.
enum class Together : std::uint32_t { kBallot, kGreatest, kSum, kShuffle, kShuffleUp };

/// Blocks of threads that run until they must wait for each other, and then in an order drawn anew.
/// Several blocks are under way at a time, the lower ones first, as on a GPU. Not thread-safe.
class Grid {
 public:
  explicit Grid(std::uint64_t seed);
  ~Grid();

  /// Calls body(room) in all threads of all blocks, and returns when all have ended. `room` is what
  /// the block's threads share: so many bytes of garbage, aligned to 16.
  /// @throws std::logic_error when threads wait for others that never come, or lanes of a warp do
  ///         different things together
  void run(unsigned blocks, int threads, std::size_t room,
           const std::function<void(std::byte* room)>& body);

  // In body: of the thread that asks.
  static unsigned block();
  static unsigned thread();
  /// Waits for all threads of the block.
  static void wait();
  /// Lets others go first: in a loop that waits for something in memory.
  static void let_others();
  /// Tells all lanes of the warp a value and waits for theirs. @returns what the 32 have told
  static const std::uint32_t* tell(Together what, std::uint32_t value);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thinpipe::cuda::played
