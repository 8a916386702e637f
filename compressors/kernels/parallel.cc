// A pool of threads that sleep between passes and end with the process.
#include "compressors/kernels/parallel.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace thinpipe {
namespace {

thread_local int threads_of_this_thread = 1;

/// One pass: parts [0, parts), cut into one range for each of `threads`.
struct Job {
  std::size_t parts = 0;
  int threads = 1;
  void (*body)(void*, std::size_t) = nullptr;
  void* context = nullptr;

  void run(int thread) const {
    const auto cut = [this](int i) {
      return parts * static_cast<std::size_t>(i) / static_cast<std::size_t>(threads);
    };
    for (std::size_t part = cut(thread); part < cut(thread + 1); ++part) body(context, part);
  }
};

class Pool {
 public:
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void run(const Job& job) {
    const std::unique_lock busy(busy_, std::try_to_lock);
    if (!busy) {
      Job alone = job;
      alone.threads = 1;
      return alone.run(0);
    }
    while (threads_.size() + 1 < static_cast<std::size_t>(job.threads)) {
      // A new thread must not mistake the previous job for a new one.
      const int index = static_cast<int>(threads_.size()) + 1;
      threads_.emplace_back([this, index, seen = generation_] { serve(index, seen); });
    }
    {
      const std::lock_guard lock(mutex_);
      job_ = job;
      left_ = job.threads - 1;
      ++generation_;
    }
    wake_.notify_all();
    job.run(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  void serve(int index, std::size_t seen) {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return ending_ || generation_ != seen; });
      if (ending_) return;
      seen = generation_;
      if (index >= job_.threads) continue;
      const Job job = job_;
      lock.unlock();
      job.run(index);
      lock.lock();
      if (--left_ == 0) done_.notify_one();
    }
  }

  std::mutex busy_;  ///< held by the thread whose pass runs
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job job_;
  int left_ = 0;                ///< threads of the pool that still run the job
  std::size_t generation_ = 0;  ///< counts jobs
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

Pool& pool() {
  static Pool instance;
  return instance;
}

}  // namespace

UseThreads::UseThreads(int threads) : before_(threads_of_this_thread) {
  threads_of_this_thread = std::max(1, threads);
}
UseThreads::~UseThreads() { threads_of_this_thread = before_; }

int current_threads() { return threads_of_this_thread; }

int threads_for(std::size_t elements) { return elements < kMinParallel ? 1 : current_threads(); }

void run_parts(std::size_t parts, int threads, void (*body)(void* context, std::size_t part),
               void* context) {
  const Job job{.parts = parts, .threads = threads, .body = body, .context = context};
  if (threads <= 1 || parts <= 1) {
    Job alone = job;
    alone.threads = 1;
    return alone.run(0);
  }
  pool().run(job);
}

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  auto* const target = static_cast<std::byte*>(to);
  const auto* const source = static_cast<const std::byte*>(from);
  const bool apart = target + bytes <= source || source + bytes <= target;
  if (!apart) {
    std::memmove(target, source, bytes);
    return;
  }
  constexpr std::size_t kLine = 64;
  parallel_stretches(bytes, kLine, [&](std::size_t begin, std::size_t end) {
    std::memcpy(target + begin, source + begin, end - begin);
  });
}

}  // namespace thinpipe
