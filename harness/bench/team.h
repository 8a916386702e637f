// Threads that wait for the next piece of work, awake at first.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace thinpipe {

/// `size` threads, the caller among them, that run one function at the same time. Waiting is busy
/// at first, so that starting costs a microsecond, not a wake-up; then they sleep.
class Team {
 public:
  explicit Team(int size);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(others_.size()) + 1; }
  /// work(0) ... work(size() - 1), each on its own thread; returns when all have.
  void run(const std::function<void(int)>& work);

 private:
  void serve(int index);

  const std::function<void(int)>* work_ = nullptr;
  std::atomic<unsigned> round_ = 0;  ///< counts calls of run()
  std::atomic<int> running_ = 0;
  std::atomic<bool> over_ = false;
  std::vector<std::thread> others_;
};

}  // namespace thinpipe
