#include "tests/cuda_threads/grid.h"

#include <sanitizer/asan_interface.h>
#include <algorithm>
#include <array>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstring>
#include <deque>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/splitmix64.h"
#include "compressors/cuda/kernels/prefix.h"

#ifdef THINPIPE_SIMULATED_RACES
#include <sanitizer/tsan_interface.h>

extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace thinpipe::cuda::simulated {
namespace grid_parts {

// Annotations of simulated threads for ThreadSanitizer; without it, they do nothing.
#ifdef THINPIPE_SIMULATED_RACES
/// While an object exists, ThreadSanitizer ignores memory accesses, because kernels do not make
/// them.
class OutsideKernels {
 public:
  OutsideKernels() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~OutsideKernels() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
  OutsideKernels(const OutsideKernels&) = delete;
  OutsideKernels& operator=(const OutsideKernels&) = delete;
};
/// Writes before show() are visible after a later see() of the same address.
inline void show(void* at) { __tsan_release(at); }
inline void see(void* at) { __tsan_acquire(at); }

inline void* this_stack() { return __tsan_get_current_fiber(); }
inline void* new_stack() { return __tsan_create_fiber(0); }
inline void end_stack(void* stack) { __tsan_destroy_fiber(stack); }
/// Call before the stack changes. Does not order memory accesses.
inline void change_stack(void* to) { __tsan_switch_to_fiber(to, __tsan_switch_to_fiber_no_sync); }
#else
struct OutsideKernels {
  OutsideKernels() {}  // NOLINT(modernize-use-equals-default): avoids an unused-variable warning
};
inline void show(void* /*at*/) {}
inline void see(void* /*at*/) {}
inline void* this_stack() { return nullptr; }
inline void* new_stack() { return nullptr; }
inline void end_stack(void* /*stack*/) {}
inline void change_stack(void* /*to*/) {}
#endif

namespace context = boost::context;

#ifdef THINPIPE_SIMULATED_RACES
constexpr std::size_t kMaxThreads = 1024;  ///< at a time: each takes ThreadSanitizer's memory
constexpr std::size_t kStackBytes = std::size_t{1} << 20;  ///< its reports need this much
#else
constexpr std::size_t kStackBytes = std::size_t{128} << 10;
constexpr std::size_t kMaxThreads = 4096;
#endif
constexpr unsigned kMaxBlocks = 64;
constexpr std::align_val_t kSharedAlignment{16};

struct Thread;

/// Allocates stacks and unpoisons them for AddressSanitizer. AddressSanitizer does not follow the
/// unwinding of a stack, so the poison of the stack's last variables remains. The next stack may
/// have the same address.
using PlainStack = context::protected_fixedsize_stack;
struct CleanStack : PlainStack {
  explicit CleanStack(std::size_t bytes) : PlainStack(bytes) {}
  context::stack_context allocate() {
    const context::stack_context made = PlainStack::allocate();
    ASAN_UNPOISON_MEMORY_REGION(static_cast<std::byte*>(made.sp) - made.size, made.size);
    return made;
  }
};

/// Threads that wait for each other at meetings. Successive meetings use the slots of `shown` in
/// turn. So a thread that has reached the next meeting publishes nothing to slower threads that are
/// still at this meeting.
struct Meeting {
  std::vector<Thread*> waiting;
  std::array<char, 2> shown{};
};

struct Warp {
  Meeting meeting;
  /// Indexed by the parity of the number of meetings, because slower lanes still read the values of
  /// the previous meeting.
  std::array<std::array<std::uint32_t, kWarpThreads>, 2> values{};
  std::array<std::array<Together, kWarpThreads>, 2> acts{};
};

struct Block {
  unsigned index = 0;
  int unfinished = 0;
  std::byte* shared = nullptr;
  Meeting meeting;
  std::vector<Warp> warps;
};

struct Thread {
  context::fiber own;     ///< continuation of this thread
  context::fiber caller;  ///< continuation of its caller
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
  self.caller = std::move(self.caller).resume();
}

/// Waits until `size` threads have arrived.
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
      // A thread that did not end is unwound on its own stack.
      if (thread.own) {
        change_stack(thread.stack);
        thread.own = {};
        show(&ended);
        change_stack(main_stack);
        see(&ended);
      }
      end_stack(thread.stack);
    }
    for (std::byte* one : shared_memory) ::operator delete(one, kSharedAlignment);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void resume(Thread& thread) {
    current = &thread;
    change_stack(thread.stack);
    thread.own = std::move(thread.own).resume();
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
    thread.own = context::fiber(std::allocator_arg, CleanStack(kStackBytes),
                                [this, &thread](context::fiber&& back) {
                                  thread.caller = std::move(back);
                                  while (!thread.quits) {
                                    see(&began);
                                    see(thread.block->shared);
                                    try {
                                      (*body)(thread.block->shared);
                                    } catch (const std::logic_error&) {
                                      error = std::current_exception();
                                    }
                                    show(thread.block->shared);
                                    show(&ended);
                                    thread.idle = true;
                                    pause();
                                  }
                                  change_stack(main_stack);
                                  return std::move(thread.caller);
                                });
    return thread;
  }
  void begin(Block& block, unsigned index, int count, std::size_t bytes) {
    block.index = index;
    block.unfinished = count;
    block.warps.assign(static_cast<std::size_t>(count) / kWarpThreads, {});
    // On a GPU, shared memory starts with values of other blocks.
    constexpr int kGarbage = 0xa5;
    std::memset(block.shared, kGarbage, bytes);
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
  void grow_shared(std::size_t count, std::size_t bytes) {
    if (bytes > shared_bytes) {
      for (std::byte* one : shared_memory) ::operator delete(one, kSharedAlignment);
      shared_memory.clear();
      shared_bytes = bytes;
    }
    while (shared_memory.size() < count)
      shared_memory.push_back(
          static_cast<std::byte*>(::operator new(shared_bytes, kSharedAlignment)));
  }
  void run_all(unsigned blocks, int count, std::size_t bytes);

  SplitMix64 random;
  std::deque<Thread> threads;  ///< all threads ever made
  std::vector<Thread*> idle, ready_threads;
  std::vector<std::byte*> shared_memory;
  std::size_t shared_bytes = 0;
  const std::function<void(std::byte*)>* body = nullptr;
  std::exception_ptr error;
  char began = 0, ended = 0;  ///< publish the writes before a run, and in it
};

void Grid::State::run_all(unsigned blocks, int count, std::size_t bytes) {
  const auto most = static_cast<unsigned>(
      std::clamp<std::size_t>(kMaxThreads / static_cast<std::size_t>(count), 1, kMaxBlocks));
  const auto at_once =
      static_cast<unsigned>(1 + random.below(std::min(most, std::max(blocks, 1U))));
  grow_shared(at_once, bytes);
  std::vector<Block> under_way(at_once);
  for (unsigned i = 0; i < at_once; ++i) under_way[i].shared = shared_memory[i];
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
                           " threads wait for threads that have ended or wait elsewhere");
  }
}

Grid::Grid(std::uint64_t seed) : state_(std::make_unique<State>(seed)) {}
Grid::~Grid() {
  const OutsideKernels outside;
  ready = &state_->ready_threads;
  main_stack = this_stack();
  state_ = nullptr;
}

void Grid::run(unsigned blocks, int threads, std::size_t shared_bytes,
               const std::function<void(std::byte* shared)>& body) {
  const OutsideKernels outside;
  ready = &state_->ready_threads;
  main_stack = this_stack();
  state_->body = &body;
  show(&state_->began);
  state_->run_all(blocks, threads, shared_bytes);
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

const std::uint32_t* Grid::exchange(Together what, std::uint32_t value) {
  const OutsideKernels outside;
  Warp& warp = current->block->warps[current->index / kWarpThreads];
  const std::size_t number = current->acts++, lane = current->index % kWarpThreads;
  auto& values = warp.values[number % 2];
  auto& acts = warp.acts[number % 2];
  values[lane] = value;
  acts[lane] = what;
  meet(warp.meeting, kWarpThreads, number);
  if (!std::all_of(acts.begin(), acts.end(), [&](Together act) { return act == what; }))
    throw std::logic_error("lanes of a warp do different warp operations");
  return values.data();
}

}  // namespace thinpipe::cuda::simulated
