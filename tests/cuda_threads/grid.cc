#include "tests/cuda_threads/grid.h"

#include <algorithm>
#include <array>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstring>
#include <deque>
#include <exception>
#include <new>
#include <sanitizer/asan_interface.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/splitmix64.h"
#include "compressors/cuda/grid/warp.h"
#include "tests/cuda_threads/race_notes.h"

namespace thinpipe::cuda::played {
namespace grid_parts {

namespace context = boost::context;

#ifdef THINPIPE_PLAYED_RACES
constexpr std::size_t kMostThreads = 1024;  ///< under way: each takes memory of ThreadSanitizer's
constexpr std::size_t kStackBytes = std::size_t{1} << 20;  ///< it reports on it
#else
constexpr std::size_t kStackBytes = std::size_t{128} << 10;
constexpr std::size_t kMostThreads = 4096;
#endif
constexpr unsigned kMostBlocks = 64;
constexpr std::align_val_t kRoomAlignment{16};

struct Thread;

/// Stacks that AddressSanitizer takes for clean: of one that was unwound, which it does not follow,
/// it remembers the last variables, and the next may lie in the same place.
using PlainStack = context::protected_fixedsize_stack;
struct CleanStack : PlainStack {
  explicit CleanStack(std::size_t bytes) : PlainStack(bytes) {}
  context::stack_context allocate() {
    const context::stack_context made = PlainStack::allocate();
    ASAN_UNPOISON_MEMORY_REGION(static_cast<std::byte*>(made.sp) - made.size, made.size);
    return made;
  }
};

/// Threads that wait for each other. The slots of `shown` alternate: a thread that has
/// gone on to the next meeting has shown the slower ones of this nothing more.
struct Meeting {
  std::vector<Thread*> waiting;
  std::array<char, 2> shown{};
};

struct Warp {
  Meeting meeting;
  /// By the parity of how often lanes have met: who is late still reads what was told before.
  std::array<std::array<std::uint32_t, kWarpThreads>, 2> values{};
  std::array<std::array<Together, kWarpThreads>, 2> acts{};
};

struct Block {
  unsigned index = 0;
  int unfinished = 0;
  std::byte* room = nullptr;
  Meeting meeting;
  std::vector<Warp> warps;
};

struct Thread {
  context::fiber here;   ///< where it goes on
  context::fiber there;  ///< who let it go on
  void* stack = nullptr;
  Block* block = nullptr;
  unsigned index = 0;
  std::size_t waits = 0, acts = 0;
  bool idle = true, quits = false;
};

inline thread_local Thread* current = nullptr;
inline thread_local std::vector<Thread*>* ready = nullptr;
inline thread_local void* main_stack = nullptr;

inline void pause() {
  Thread& self = *current;
  change_stack(main_stack);
  self.there = std::move(self.there).resume();
}

/// Waits until so many have come.
inline void meet(Meeting& meeting, std::size_t size, std::size_t number) {
  show(&meeting.shown[number % 2]);
  meeting.waiting.push_back(current);
  if (meeting.waiting.size() == size) {
    ready->insert(ready->end(), meeting.waiting.begin(), meeting.waiting.end());
    meeting.waiting.clear();
  }
  pause();
  see(&meeting.shown[number % 2]);
}

}  // namespace grid_parts
using namespace grid_parts;  // NOLINT(google-build-using-namespace): of this file

struct Grid::State {
  explicit State(std::uint64_t seed) : random(seed) {}
  ~State() {
    for (Thread& thread : threads) {
      thread.quits = true;
      if (thread.idle) resume(thread);
    }
    for (Thread& thread : threads) {
      // A thread that never came to its end is unwound, on its own stack.
      if (thread.here) {
        change_stack(thread.stack);
        thread.here = {};
        show(&ended);
        change_stack(main_stack);
        see(&ended);
      }
      end_stack(thread.stack);
    }
    for (std::byte* one : rooms) ::operator delete(one, kRoomAlignment);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void resume(Thread& thread) {
    current = &thread;
    change_stack(thread.stack);
    thread.here = std::move(thread.here).resume();
    current = nullptr;
  }
  Thread& idle_thread() {
    if (!idle.empty()) {
      Thread* const thread = idle.back();
      idle.pop_back();
      return *thread;
    }
    Thread& thread = threads.emplace_back();
    thread.stack = new_stack();
    thread.here =
        context::fiber(std::allocator_arg, CleanStack(kStackBytes),
                       [this, &thread](context::fiber&& back) {
                         thread.there = std::move(back);
                         while (!thread.quits) {
                           see(&began);
                           see(thread.block->room);
                           try {
                             (*body)(thread.block->room);
                           } catch (const std::logic_error&) {
                             error = std::current_exception();
                           }
                           show(thread.block->room);
                           show(&ended);
                           thread.idle = true;
                           pause();
                         }
                         change_stack(main_stack);
                         return std::move(thread.there);
                       });
    return thread;
  }
  void begin(Block& block, unsigned index, int count, std::size_t bytes) {
    block.index = index;
    block.unfinished = count;
    block.warps.assign(static_cast<std::size_t>(count) / kWarpThreads, {});
    // A GPU's blocks find in shared memory what others have left there.
    constexpr int kGarbage = 0xa5;
    std::memset(block.room, kGarbage, bytes);
    for (int i = 0; i < count; ++i) {
      Thread& thread = idle_thread();
      thread.block = &block;
      thread.index = static_cast<unsigned>(i);
      thread.waits = 0;
      thread.acts = 0;
      thread.idle = false;
      ready_threads.push_back(&thread);
    }
  }
  void grow_rooms(std::size_t count, std::size_t bytes) {
    if (bytes > room_bytes) {
      for (std::byte* one : rooms) ::operator delete(one, kRoomAlignment);
      rooms.clear();
      room_bytes = bytes;
    }
    while (rooms.size() < count)
      rooms.push_back(static_cast<std::byte*>(::operator new(room_bytes, kRoomAlignment)));
  }
  void run_all(unsigned blocks, int count, std::size_t bytes);

  SplitMix64 random;
  std::deque<Thread> threads;  ///< all that there ever were
  std::vector<Thread*> idle, ready_threads;
  std::vector<std::byte*> rooms;
  std::size_t room_bytes = 0;
  const std::function<void(std::byte*)>* body = nullptr;
  std::exception_ptr error;
  char began = 0, ended = 0;  ///< what was done before a run, and in it
};

void Grid::State::run_all(unsigned blocks, int count, std::size_t bytes) {
  const auto most = static_cast<unsigned>(
      std::clamp<std::size_t>(kMostThreads / static_cast<std::size_t>(count), 1, kMostBlocks));
  const auto at_once =
      static_cast<unsigned>(1 + random.below(std::min(most, std::max(blocks, 1U))));
  grow_rooms(at_once, bytes);
  std::vector<Block> under_way(at_once);
  for (unsigned i = 0; i < at_once; ++i) under_way[i].room = rooms[i];
  unsigned next = 0;
  for (Block& block : under_way)
    if (next < blocks) begin(block, next++, count, bytes);
  while (!ready_threads.empty()) {
    std::swap(ready_threads[random.below(ready_threads.size())], ready_threads.back());
    Thread& thread = *ready_threads.back();
    ready_threads.pop_back();
    resume(thread);
    if (!thread.idle) continue;
    idle.push_back(&thread);
    Block& block = *thread.block;
    if (--block.unfinished == 0 && next < blocks) begin(block, next++, count, bytes);
  }
  see(&ended);
  if (error) std::rethrow_exception(std::exchange(error, nullptr));
  for (const Block& block : under_way) {
    if (block.unfinished == 0) continue;
    throw std::logic_error("block " + std::to_string(block.index) + ": " +
                           std::to_string(block.unfinished) +
                           " threads wait for others that have ended or wait elsewhere");
  }
}

Grid::Grid(std::uint64_t seed) : state_(std::make_unique<State>(seed)) {}
Grid::~Grid() {
  const OutsideKernels outside;
  ready = &state_->ready_threads;
  main_stack = this_stack();
  state_ = nullptr;
}

void Grid::run(unsigned blocks, int threads, std::size_t room,
               const std::function<void(std::byte* room)>& body) {
  const OutsideKernels outside;
  ready = &state_->ready_threads;
  main_stack = this_stack();
  state_->body = &body;
  show(&state_->began);
  state_->run_all(blocks, threads, room);
}

unsigned Grid::block() { return current->block->index; }
unsigned Grid::thread() { return current->index; }

void Grid::wait() {
  const OutsideKernels outside;
  Block& block = *current->block;
  meet(block.meeting, block.warps.size() * kWarpThreads, current->waits++);
}

void Grid::let_others() {
  const OutsideKernels outside;
  ready->push_back(current);
  pause();
}

const std::uint32_t* Grid::tell(Together what, std::uint32_t value) {
  const OutsideKernels outside;
  Warp& warp = current->block->warps[current->index / kWarpThreads];
  const std::size_t number = current->acts++, lane = current->index % kWarpThreads;
  auto& values = warp.values[number % 2];
  auto& acts = warp.acts[number % 2];
  values[lane] = value;
  acts[lane] = what;
  meet(warp.meeting, kWarpThreads, number);
  if (!std::all_of(acts.begin(), acts.end(), [&](Together act) { return act == what; }))
    throw std::logic_error("lanes of a warp that do different things together");
  return values.data();
}

}  // namespace thinpipe::cuda::played
