// Runs parts of a pass on several threads. Results never depend on their number: what is summed is
// cut into parts by the tensor's size alone.
#pragma once

#include <cstddef>

namespace thinpipe {

/// Fewer elements than this are not worth waking a thread for (some 20 microseconds, in which one
/// core reads as many).
constexpr std::size_t kMinParallel = std::size_t{1} << 18;

/// The number of threads that passes started by this thread use, while the object lives.
class UseThreads {
 public:
  explicit UseThreads(int threads);  ///< at least 1
  ~UseThreads();
  UseThreads(const UseThreads&) = delete;
  UseThreads& operator=(const UseThreads&) = delete;

 private:
  int before_;
};

/// What the innermost UseThreads says; 1 without one.
int current_threads();

/// Threads for a pass over `elements`: current_threads(), or 1 where that is faster.
int threads_for(std::size_t elements);

/// Calls body(part) once for every part in [0, parts), on up to `threads` threads; each takes
/// neighbouring parts. Returns when all are done. `body` must not throw. Where another thread's
/// pass runs on the pool already, this one runs on the calling thread alone.
void run_parts(std::size_t parts, int threads, void (*body)(void* context, std::size_t part),
               void* context);

template <class Body>
void parallel_parts(std::size_t parts, int threads, Body body) {
  run_parts(
      parts, threads, [](void* context, std::size_t part) { (*static_cast<Body*>(context))(part); },
      &body);
}

}  // namespace thinpipe
