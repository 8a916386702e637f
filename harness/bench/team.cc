#include "harness/bench/team.h"

namespace thinpipe {
namespace {

constexpr int kSpins = 20000;  // some tens of microseconds; who waits longer leaves the core

}  // namespace

Team::Team(int size) {
  for (int index = 1; index < size; ++index) {
    others_.emplace_back([this, index] { serve(index); });
  }
}

Team::~Team() {
  over_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& thread : others_) thread.join();
}

void Team::run(const std::function<void(int)>& work) {
  work_ = &work;
  running_ = static_cast<int>(others_.size());
  ++round_;
  round_.notify_all();
  work(0);
  for (int spin = 0; running_ != 0; ++spin) {
    if (spin >= kSpins) std::this_thread::yield();
  }
}

void Team::serve(int index) {
  for (unsigned seen = 0;;) {
    for (int spin = 0; round_ == seen && spin < kSpins; ++spin) {
    }
    round_.wait(seen);
    ++seen;
    if (over_) return;
    (*work_)(index);
    --running_;
  }
}

}  // namespace thinpipe
