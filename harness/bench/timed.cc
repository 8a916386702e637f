#include "harness/bench/timed.h"

#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "netem/sandbox.h"

namespace thinpipe {
namespace {

using Clock = std::chrono::steady_clock;

const std::atomic<std::uint64_t>* counter = nullptr;  // of allocations
volatile std::sig_atomic_t interrupt_seen = 0;

constexpr double kSlice = 2e-3;  // s: far above the cost of a turn, far below drifts of a machine
constexpr double kMaxRounds = 1000;

void time_slice(const Timed& timed, Timing& timing) {
  timed.prepare();
  timed.call();  // brings back the data that the other side has evicted from the caches
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
    guard_timing(timing, [&] {
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
      std::max(std::min(budget / round, kMaxRounds), static_cast<double>(options.repetitions))));
}

// Pins this process to one core during its lifetime, if the process may use the core.
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

// Pins both processes to the same core, because the cores of one machine differ in speed from one
// second to the next. Both take the larger-numbered one of the two cores on which they now run.
std::unique_ptr<Pinned> share_core(const BenchOptions& options, Turns& turns) {
  const bool one_thread = std::all_of(options.threads.begin(), options.threads.end(),
                                      [](int threads) { return threads == 1; });
  const int here = one_thread ? ::sched_getcpu() : -1;
  if (here < 0) return nullptr;
  return std::make_unique<Pinned>(turns.agree(static_cast<std::uint64_t>(here) + 1) - 1);
}

// One of the two processes that take turns.
struct Side {
  int socket = -1;
  bool ended = false;
  std::optional<std::uint64_t> wish = {};  // its unanswered request

  void listen() {
    if (ended || wish) return;
    std::uint64_t number = 0;
    ssize_t got = 0;
    do {
      got = ::recv(socket, &number, sizeof number, MSG_WAITALL);
    } while (got < 0 && errno == EINTR && !stop_requested());
    if (got == sizeof number) {
      wish = number;
    } else {
      ended = true;
    }
  }

  void answer(std::uint64_t number) {
    if (!wish) return;
    wish.reset();
    if (::send(socket, &number, sizeof number, MSG_NOSIGNAL) != sizeof number) ended = true;
  }
};

}  // namespace

std::optional<std::uint64_t> allocations() {
  if (!counter) return std::nullopt;
  return counter->load(std::memory_order_relaxed);
}

void count_allocations_in(const std::atomic<std::uint64_t>& where) { counter = &where; }

bool interrupted() { return interrupt_seen != 0; }

void watch_for_interrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupt_seen = 1; };
  action.sa_flags = SA_RESETHAND;
  ::sigaction(SIGINT, &action, nullptr);
}

std::optional<double> Timing::count_allocations(std::optional<std::uint64_t> before,
                                                std::int64_t calls) {
  if (!before) return std::nullopt;
  const double each = static_cast<double>(*thinpipe::allocations() - *before) /
                      static_cast<double>(std::max<std::int64_t>(1, calls));
  allocations = std::max(allocations, each);
  return each;
}

Turns::Turns(int socket) : socket_(socket) {
  struct stat status = {};
  if (::fstat(socket, &status) != 0 || !S_ISSOCK(status.st_mode))
    throw InputError("--turns: standard input is no socket; use `thinpipe gate`");
}

std::uint64_t Turns::ask(std::uint64_t number) {
  if (::send(socket_, &number, sizeof number, MSG_NOSIGNAL) != sizeof number)
    throw RunError("--turns: the other end of standard input is closed");
  std::uint64_t answer = 0;
  const ssize_t got = ::recv(socket_, &answer, sizeof answer, MSG_WAITALL);
  if (interrupted()) throw RunError("interrupted");
  if (got != sizeof answer) throw RunError("--turns: the other end of standard input is closed");
  return answer;
}

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
      guard_timing(timing, [&] {
        time_slice(timed, timing);
        timing.order.push_back(slices++);
      });
      if (interrupted()) throw RunError("interrupted");
    }
  }
  turns.take();  // waits for the other side's last slice, which later work would disturb
  return result;
}

void give_turns(int first, int second, std::mt19937_64& coin) {
  std::array<Side, 2> sides{Side{first}, Side{second}};
  while (!stop_requested()) {
    for (Side& side : sides) side.listen();
    if (sides[0].ended && sides[1].ended) return;
    const std::uint64_t rounds = std::max(sides[0].wish.value_or(0), sides[1].wish.value_or(0));
    if (rounds > 0) {  // the sides prepare and do not measure yet
      for (Side& side : sides)
        if (side.wish && *side.wish > 0) side.answer(rounds);
      continue;
    }
    if ((coin() & 1) != 0) std::swap(sides[0], sides[1]);
    for (Side& side : sides) {
      side.answer(0);
      side.listen();  // until its slice is over
    }
  }
}

}  // namespace thinpipe
