// Runs parts of a pass on several threads. Results never depend on the number of threads: sums are
// cut into parts by the tensor's size alone.
#pragma once

#include <atomic>
#include <cstddef>

namespace thinpipe {

/// Least number of elements for which waking a thread is worth its cost: waking takes some 50
/// microseconds, in which one core reads a quarter of these elements.
constexpr std::size_t kMinParallel = std::size_t{1} << 20;

/// Floats of a cache line: the unit of a prefetch, and of elements that one thread should write.
constexpr std::size_t kLineFloats = 16;

/// Sets the number of threads of passes started by this thread, while the object lives.
class UseThreads {
 public:
  explicit UseThreads(int threads);  ///< at least 1
  ~UseThreads();
  UseThreads(const UseThreads&) = delete;
  UseThreads& operator=(const UseThreads&) = delete;

 private:
  int before_;
};

/// Returns the threads of the innermost UseThreads; 1 without one.
int current_threads();

/// Returns the threads for a pass over `elements`: current_threads(), or 1 if that is faster.
int threads_for(std::size_t elements);

/// Calls body(part) once for every part in [0, parts), on up to `threads` threads. Each thread
/// takes consecutive parts. Returns when all parts are done. `body` must not throw. While another
/// thread's pass uses the thread pool, this pass runs on the calling thread alone.
void run_parts(std::size_t parts, int threads, void (*body)(void* context, std::size_t part),
               void* context);

template <class Body>
void parallel_parts(std::size_t parts, int threads, Body body) {
  run_parts(
      parts, threads, [](void* context, std::size_t part) { (*static_cast<Body*>(context))(part); },
      &body);
}

/// Returns the number of parts into which a sum over `elements` values is divided. Parts are summed
/// independently, then their sums are added in order. The number of parts depends on `elements`
/// alone, so the result does not depend on the number of threads.
constexpr std::size_t sum_parts(std::size_t elements) { return elements < kMinParallel ? 1 : 16; }
constexpr std::size_t kMaxSumParts = 16;

/// Calls body(part, begin, end) for the sum_parts(n) parts of [0, n).
template <class Body>
void parallel_sum_parts(std::size_t n, Body body) {
  const std::size_t parts = sum_parts(n);
  parallel_parts(parts, threads_for(n),
                 [&](std::size_t part) { body(part, n * part / parts, n * (part + 1) / parts); });
}

/// Calls body(begin, end) for ranges of [0, n) that begin at multiples of `grain`, one per thread.
template <class Body>
void parallel_stretches(std::size_t n, std::size_t grain, Body body) {
  const int threads = threads_for(n);
  if (threads == 1) return body(std::size_t{0}, n);
  const auto parts = static_cast<std::size_t>(threads);
  const auto cut = [&](std::size_t part) {
    return part == parts ? n : n / grain * part / parts * grain;
  };
  parallel_parts(parts, threads, [&](std::size_t part) { body(cut(part), cut(part + 1)); });
}

/// Returns the sum of the numbers that body(begin, end) returns for the ranges of
/// parallel_stretches().
template <class Body>
std::size_t sum_of_stretches(std::size_t n, std::size_t grain, Body body) {
  std::atomic<std::size_t> sum = 0;
  parallel_stretches(n, grain,
                     [&](std::size_t begin, std::size_t end) { sum += body(begin, end); });
  return sum;
}

/// Returns true if body(begin, end) returns true for all ranges of parallel_stretches().
template <class Body>
bool all_stretches(std::size_t n, std::size_t grain, Body body) {
  std::atomic<bool> all = true;
  parallel_stretches(n, grain, [&](std::size_t begin, std::size_t end) {
    if (!body(begin, end)) all = false;
  });
  return all;
}

/// Copies bytes as memmove does. Large copies run on several threads (threads_for()) if source and
/// destination do not overlap.
void copy_bytes(void* to, const void* from, std::size_t bytes);

}  // namespace thinpipe
