// Times of things in turn, and the roofline's kernels.
#include "harness/bench/timed.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "compressors/simd.h"
#include "harness/bench/roofline.h"
#include "netem/file_descriptor.h"

namespace thinpipe {
namespace {

struct Pair {
  FileDescriptor here, there;
};

Pair sockets() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw SystemError("socketpair");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// Two sides in threads of their own; each closes its end when it is done.
template <class One, class Other>
void beside(One one, Other other) {
  Pair first = sockets(), second = sockets();
  std::mt19937_64 coin(1);
  const auto run = [](FileDescriptor& socket, auto& body) {
    Turns turns(socket.get());
    body(turns);
    socket.reset();
  };
  std::thread side([&] { run(first.there, one); });
  std::thread other_side([&] { run(second.there, other); });
  give_turns(first.here.get(), second.here.get(), coin);
  side.join();
  other_side.join();
}

TEST(GiveTurns, OneAtATimeAndInPairs) {
  std::atomic<int> busy{0};
  std::mutex mutex;
  std::string log;
  const auto body = [&](char name) {
    return [&, name](Turns& turns) {
      for (int i = 0; i < 200; ++i) {
        turns.take();
        ASSERT_EQ(++busy, 1);
        {
          const std::lock_guard<std::mutex> lock(mutex);
          log += name;
        }
        --busy;
      }
    };
  };
  beside(body('a'), body('b'));
  ASSERT_EQ(log.size(), 400U);
  for (std::size_t i = 0; i < log.size(); i += 2) ASSERT_NE(log[i], log[i + 1]) << i;
  EXPECT_NE(log.find("aa"), std::string::npos);  // who is first is drawn anew
  EXPECT_NE(log.find("bb"), std::string::npos);
}

TEST(GiveTurns, BothUseTheLargerNumber) {
  std::uint64_t one = 0, other = 0;
  beside([&](Turns& turns) { one = turns.agree(7); },
         [&](Turns& turns) { other = turns.agree(12); });
  EXPECT_EQ(one, 12U);
  EXPECT_EQ(other, 12U);
}

TEST(GiveTurns, TheOtherGoesOnAlone) {
  int turns_taken = 0;
  beside([](Turns& turns) { turns.take(); },
         [&](Turns& turns) {
           for (; turns_taken < 50; ++turns_taken) turns.take();
         });
  EXPECT_EQ(turns_taken, 50);
}

TEST(Turns, NeedASocket) {
  FILE* file = std::tmpfile();
  EXPECT_THROW(Turns turns(::fileno(file)), InputError);
  std::fclose(file);
}

TEST(Turns, NobodyAtTheOtherEnd) {
  Pair pair = sockets();
  Turns turns(pair.there.get());
  pair.here.reset();
  EXPECT_THROW(turns.take(), RunError);
}

BenchOptions repeated(int times) {
  BenchOptions options;
  options.repetitions = times;
  options.min_time = 1e-6;
  return options;
}

Timed timed(const std::string& name, std::string& log, std::mutex& mutex) {
  return {.name = name,
          .elements = 1,
          .bytes = 4,
          .prepare =
              [&, name] {
                const std::lock_guard<std::mutex> lock(mutex);
                log += name;
              },
          .call = [] {}};
}

TEST(MeasureInTurns, NeighboursInTimeAreOfOneRow) {
  std::mutex mutex;
  std::string log;
  const BenchOptions options = repeated(9);
  Timings one, other;
  const auto side = [&](Timings& result) {
    return [&](Turns& turns) {
      const std::vector<Timed> what{timed("x", log, mutex), timed("y", log, mutex),
                                    timed("z", log, mutex)};
      result = measure_in_turns(what, options, turns, [](const auto&) {});
    };
  };
  beside(side(one), side(other));
  ASSERT_EQ(log.size(), 6U + 2 * 3 * 9);
  log.erase(0, 6);  // once each before the first round
  for (std::size_t i = 0; i < log.size(); i += 2) EXPECT_EQ(log[i], log[i + 1]) << log;
  EXPECT_NE(log.substr(0, 48), log.substr(6));  // the order changes from round to round
  for (const Timings* each : {&one, &other})
    for (const char* name : {"x", "y", "z"}) EXPECT_EQ(each->at(name).seconds.size(), 9U);
}

TEST(MeasureInTurns, AnErrorStopsItsRowAlone) {
  std::mutex mutex;
  std::string log;
  const BenchOptions options = repeated(3);
  Timings one;
  beside(
      [&](Turns& turns) {
        Timed bad = timed("x", log, mutex);
        bad.call = [] { throw RunError("broken"); };
        one = measure_in_turns({bad, timed("y", log, mutex)}, options, turns, [](const auto&) {});
      },
      [&](Turns& turns) {
        measure_in_turns({timed("x", log, mutex), timed("y", log, mutex)}, options, turns,
                         [](const auto&) {});
      });
  EXPECT_EQ(one.at("x").error, "broken");
  EXPECT_EQ(one.at("y").seconds.size(), 3U);
}

// The roofline's kernels do all of the work they are timed for: every element counts, once.

// Sizes that are no multiple of vectors, streams or threads; some smaller than all of these.
constexpr std::size_t kSizes[] = {0, 1, 7, 16, 65, 1000, 4096, 70001};

// Calls `body` with every size and a team, for every instruction set and some numbers of threads.
template <class Body>
void with_every_team(Body body) {
  for (const std::string& target : simd_targets()) {
    set_simd_target(target);
    for (const int threads : {1, 2, 3}) {
      SCOPED_TRACE(target + ", " + std::to_string(threads) + " threads");
      Team team(threads);
      for (const std::size_t n : kSizes) body(n, team);
    }
  }
  set_simd_target("best");
}

TEST(Roofline, EveryStreamCountReadsEveryElementOnce) {
  with_every_team([](std::size_t n, Team& team) {
    // The elements are small whole numbers, 0, 1, ..., 6, 0, 1, ..., so their sum is exact in any
    // order. The sum shows whether each element was added once.
    std::vector<float> x(n);
    double expected = 0;
    for (std::size_t i = 0; i < n; ++i) expected += x[i] = static_cast<float>(i % 7);
    for (const int streams : kStreamCounts)
      EXPECT_EQ(read_streams(x, streams, team), expected) << n << ", " << streams << " streams";
    if (n == 0) return;
    // One element more shows up wherever it stands.
    for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
      x[at] += 100;
      for (const int streams : kStreamCounts)
        EXPECT_EQ(read_streams(x, streams, team), expected + 100) << n << " at " << at;
      x[at] -= 100;
    }
  });
}

TEST(Roofline, CopyAndTriadWriteEveryElement) {
  with_every_team([](std::size_t n, Team& team) {
    std::vector<float> a(n), b(n), out(n, -1.0F);
    for (std::size_t i = 0; i < n; ++i) {
      a[i] = static_cast<float>(i);
      b[i] = static_cast<float>(i % 5);
    }
    copy_array(a, out, team);
    EXPECT_EQ(out, a) << n;
    triad(a, b, 0.5F, out, team);
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(out[i], static_cast<float>(i) + 0.5F * static_cast<float>(i % 5)) << i;
  });
}

TEST(Roofline, UpdateAndStoreChangeEveryElementOnce) {
  with_every_team([](std::size_t n, Team& team) {
    std::vector<float> from(n), to(n, 3.0F);
    for (std::size_t i = 0; i < n; ++i) from[i] = static_cast<float>(i);
    add_array(from, to, team);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(to[i], static_cast<float>(i) + 3.0F) << i;
    fill_array(0.5F, to, team);
    EXPECT_EQ(to, std::vector<float>(n, 0.5F)) << n;
  });
}

TEST(Roofline, EveryThreadComputesItsMultiplyAdds) {
  with_every_team([](std::size_t n, Team& team) {
    // Twelve chains of whole vectors: less than 12 vectors more than requested, of up to 64 lanes.
    const double done = multiply_add(n, team) / team.size();
    EXPECT_GE(done, static_cast<double>(n));
    EXPECT_LT(done, static_cast<double>(n) + 12 * 64);
  });
}

TEST(Team, EveryThreadWorksOnceARound) {
  Team team(3);
  std::atomic<int> calls[3] = {0, 0, 0};
  for (int round = 1; round <= 1000; ++round) {
    team.run([&](int index) { ++calls[index]; });
    for (const std::atomic<int>& count : calls) ASSERT_EQ(count, round);
  }
}

}  // namespace
}  // namespace thinpipe
