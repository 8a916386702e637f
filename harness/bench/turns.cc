#include "harness/bench/turns.h"

#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>

#include "base/clock.h"
#include "base/error.h"
#include "harness/bench/allocations.h"
#include "harness/bench/measure.h"

namespace thinpipe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSlice = 2e-3;  // s: far above the cost of a turn, far below a machine's moods
constexpr double kMostRounds = 1000;

// What a compressor does wrong stops its own row alone.
template <class Work>
void guarded(Timing& timing, Work work) {
  if (!timing.error.empty()) return;
  try {
    work();
  } catch (const std::exception& error) {
    timing.error = error.what();
  }
}

void time_slice(const Timed& timed, Timing& timing) {
  timed.prepare();
  timed.call();  // what the other side has put out of the caches comes back
  const std::optional<std::uint64_t> before = allocations();
  const Clock::time_point start = Clock::now();
  std::int64_t calls = 0;
  double taken = 0;
  do {
    timed.call();
    ++calls;
    taken = seconds_since(start);
  } while (taken < kSlice);
  timing.count_allocations(before, calls);
  timing.seconds.push_back(taken / static_cast<double>(calls));
}

double time_of_round(const std::vector<Timed>& what, Timings& result) {
  double total = 0;
  for (const Timed& timed : what) {
    Timing& timing = result[timed.name];
    guarded(timing, [&] {
      timed.prepare();
      timed.call();
      const Clock::time_point start = Clock::now();
      timed.call();
      const double call = seconds_since(start);
      total += (call + std::max(call, kSlice)) / timed.every;
    });
  }
  return total;
}

std::uint64_t rounds_for(const std::vector<Timed>& what, const BenchOptions& options,
                         Timings& result) {
  const double budget = options.repetitions * options.min_time * static_cast<double>(what.size());
  const double round = std::max(time_of_round(what, result), kSlice);
  return static_cast<std::uint64_t>(std::ceil(
      std::max(std::min(budget / round, kMostRounds), static_cast<double>(options.repetitions))));
}

// On one core while it lives, if this process may use it.
class Pinned {
 public:
  explicit Pinned(std::uint64_t core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    if (core >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    CPU_SET(core, &one);
    done_ = ::sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~Pinned() {
    if (done_) ::sched_setaffinity(0, sizeof before_, &before_);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  cpu_set_t before_ = {};
  bool done_ = false;
};

// Cores of one machine are not equally fast from one second to the next, so both sides use one
// core: the larger number of those they were on.
std::unique_ptr<Pinned> share_core(const BenchOptions& options, Turns& turns) {
  const bool one_thread = std::all_of(options.threads.begin(), options.threads.end(),
                                      [](int threads) { return threads == 1; });
  const int here = one_thread ? ::sched_getcpu() : -1;
  if (here < 0) return nullptr;
  return std::make_unique<Pinned>(turns.agree(static_cast<std::uint64_t>(here) + 1) - 1);
}

}  // namespace

Turns::Turns(int socket) : socket_(socket) {
  struct stat status = {};
  if (::fstat(socket, &status) != 0 || !S_ISSOCK(status.st_mode))
    throw InputError("--turns: standard input is no socket; `thinpipe gate` makes one");
}

std::uint64_t Turns::ask(std::uint64_t number) {
  if (::send(socket_, &number, sizeof number, MSG_NOSIGNAL) != sizeof number)
    throw RunError("--turns: the other end of standard input is gone");
  std::uint64_t answer = 0;
  const ssize_t got = ::recv(socket_, &answer, sizeof answer, MSG_WAITALL);
  if (interrupted()) throw RunError("interrupted");
  if (got != sizeof answer) throw RunError("--turns: the other end of standard input is gone");
  return answer;
}

std::uint64_t Turns::agree(std::uint64_t number) { return ask(number); }

void Turns::take() { ask(0); }

Timings measure_in_turns(const std::vector<Timed>& what, const BenchOptions& options, Turns& turns,
                         const std::function<void(const std::string&)>& progress) {
  Timings result;
  const std::uint64_t rounds = turns.agree(rounds_for(what, options, result));
  const std::unique_ptr<Pinned> pinned = share_core(options, turns);
  std::vector<std::size_t> order(what.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 generator(options.seed);
  std::size_t slices = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), generator);
    for (const std::size_t index : order) {
      const Timed& timed = what[index];
      if (round % static_cast<std::uint64_t>(timed.every) != 0) continue;
      progress(timed.name);
      turns.take();
      Timing& timing = result[timed.name];
      guarded(timing, [&] {
        time_slice(timed, timing);
        timing.order.push_back(slices++);
      });
      if (interrupted()) throw RunError("interrupted");
    }
  }
  turns.take();  // what follows would disturb the other side's last slice
  return result;
}

}  // namespace thinpipe
