#include "harness/bench/roofline.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "compressors/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/bench/roofline.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kVectors = 8;  // loads and independent sums in a turn, for any kStreams

/// Reads `n` elements from each of kStreams positions, `stride` apart.
template <std::size_t kStreams>
double SumStreams(const float* HWY_RESTRICT x, std::size_t stride, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t kEach = kVectors / kStreams;  // vectors of a stream a turn
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  std::size_t i = 0;
  for (; i + kEach * lanes <= n; i += kEach * lanes) {
    const auto load = [&](std::size_t k) HWY_ATTR {
      return hn::LoadU(d, x + (k / kEach) * stride + i + (k % kEach) * lanes);
    };
    s0 = hn::Add(s0, load(0));
    s1 = hn::Add(s1, load(1));
    s2 = hn::Add(s2, load(2));
    s3 = hn::Add(s3, load(3));
    s4 = hn::Add(s4, load(4));
    s5 = hn::Add(s5, load(5));
    s6 = hn::Add(s6, load(6));
    s7 = hn::Add(s7, load(7));
  }
  const auto sum =
      hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(hn::Add(s4, s5), hn::Add(s6, s7)));
  double total = static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  for (std::size_t stream = 0; stream < kStreams; ++stream) {
    for (std::size_t j = i; j < n; ++j) total += static_cast<double>(x[stream * stride + j]);
  }
  return total;
}

double Read(const float* x, std::size_t n, int streams) {
  const std::size_t count = static_cast<std::size_t>(streams);
  const std::size_t stride = n / count / 16 * 16;  // whole cache lines
  double total = streams == 1   ? SumStreams<1>(x, stride, stride)
                 : streams == 2 ? SumStreams<2>(x, stride, stride)
                 : streams == 4 ? SumStreams<4>(x, stride, stride)
                                : SumStreams<8>(x, stride, stride);
  for (std::size_t i = count * stride; i < n; ++i) total += static_cast<double>(x[i]);
  return total;
}

void Copy(const float* HWY_RESTRICT from, std::size_t n, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const auto v0 = hn::LoadU(d, from + i), v1 = hn::LoadU(d, from + i + lanes);
    const auto v2 = hn::LoadU(d, from + i + 2 * lanes), v3 = hn::LoadU(d, from + i + 3 * lanes);
    hn::StoreU(v0, d, to + i);
    hn::StoreU(v1, d, to + i + lanes);
    hn::StoreU(v2, d, to + i + 2 * lanes);
    hn::StoreU(v3, d, to + i + 3 * lanes);
  }
  for (; i < n; ++i) to[i] = from[i];
}

void Triad(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, float factor, std::size_t n,
           float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto f = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto v0 = hn::MulAdd(f, hn::LoadU(d, b + i), hn::LoadU(d, a + i));
    const auto v1 = hn::MulAdd(f, hn::LoadU(d, b + i + lanes), hn::LoadU(d, a + i + lanes));
    hn::StoreU(v0, d, to + i);
    hn::StoreU(v1, d, to + i + lanes);
  }
  for (; i < n; ++i) to[i] = a[i] + factor * b[i];
}

void Update(const float* HWY_RESTRICT from, std::size_t n, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto v0 = hn::Add(hn::LoadU(d, to + i), hn::LoadU(d, from + i));
    const auto v1 = hn::Add(hn::LoadU(d, to + i + lanes), hn::LoadU(d, from + i + lanes));
    hn::StoreU(v0, d, to + i);
    hn::StoreU(v1, d, to + i + lanes);
  }
  for (; i < n; ++i) to[i] += from[i];
}

void FillFloats(float value, std::size_t n, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto v = hn::Set(d, value);
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    hn::StoreU(v, d, to + i);
    hn::StoreU(v, d, to + i + lanes);
  }
  for (; i < n; ++i) to[i] = value;
}

/// Computes x = x * one + one in twelve independent chains of vectors, which cover the latency of
/// four cycles of three units. With the constant they fit the 16 registers of AVX2. `one` is 1, so
/// the chains count the multiply-adds, whose number is returned. It is a parameter, so that the
/// compiler cannot leave out the multiplication.
double MultiplyAdd(std::size_t operations, float one) {
  constexpr std::size_t kChains = 12;
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t rounds = (operations + kChains * lanes - 1) / (kChains * lanes);
  const auto f = hn::Set(d, one);
  // Chains that began with the same value would be one chain to the compiler.
  auto x0 = hn::Zero(d), x1 = hn::Add(x0, f), x2 = hn::Add(x1, f), x3 = hn::Add(x2, f);
  auto x4 = hn::Add(x3, f), x5 = hn::Add(x4, f), x6 = hn::Add(x5, f), x7 = hn::Add(x6, f);
  auto x8 = hn::Add(x7, f), x9 = hn::Add(x8, f), x10 = hn::Add(x9, f), x11 = hn::Add(x10, f);
  for (std::size_t round = 0; round < rounds; ++round) {
    x0 = hn::MulAdd(x0, f, f);
    x1 = hn::MulAdd(x1, f, f);
    x2 = hn::MulAdd(x2, f, f);
    x3 = hn::MulAdd(x3, f, f);
    x4 = hn::MulAdd(x4, f, f);
    x5 = hn::MulAdd(x5, f, f);
    x6 = hn::MulAdd(x6, f, f);
    x7 = hn::MulAdd(x7, f, f);
    x8 = hn::MulAdd(x8, f, f);
    x9 = hn::MulAdd(x9, f, f);
    x10 = hn::MulAdd(x10, f, f);
    x11 = hn::MulAdd(x11, f, f);
  }
  const auto sum = hn::Add(
      hn::Add(hn::Add(hn::Add(x0, x1), hn::Add(x2, x3)), hn::Add(hn::Add(x4, x5), hn::Add(x6, x7))),
      hn::Add(hn::Add(x8, x9), hn::Add(x10, x11)));
  constexpr double kFirstValues = kChains * (kChains - 1) / 2;  // 0 + 1 + ... + 11
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum))) -
         kFirstValues * static_cast<double>(lanes);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(Read);
HWY_EXPORT(Copy);
HWY_EXPORT(Triad);
HWY_EXPORT(Update);
HWY_EXPORT(FillFloats);
HWY_EXPORT(MultiplyAdd);

constexpr int kSpins = 20000;  // tens of microseconds; a thread that waits longer yields the core

// The roofline consists of loops of a few instructions each. Their times scatter less than a
// compressor's, so a quarter of a compressor's time is enough. A run with few compressors then does
// not spend most of its time on the roofline.
constexpr double kTimeShare = 0.25;
constexpr double kMinSeconds = 5e-3;

// Streams of the reread. Other numbers are not measured, to keep the run short.
constexpr int kRereadStreams = 4;

// Multiply-adds of a call on each thread: tens of microseconds, far above the start of a team.
// Floats count as many exactly.
constexpr std::size_t kOperations = std::size_t{1} << 20;
constexpr const char* kMultiplyAddName = "multiply_add";

std::string read_name(int streams) { return fmt::format("read/streams:{}", streams); }

/// Returns thread `index`'s range of an array of n elements: begin and length, whole cache lines.
std::pair<std::size_t, std::size_t> range_of(std::size_t n, int index, const Team& team) {
  const auto ranges = static_cast<std::size_t>(team.size());
  const auto own = static_cast<std::size_t>(index);
  const auto edge = [&](std::size_t i) { return i == ranges ? n : n / ranges * i / 16 * 16; };
  return {edge(own), edge(own + 1) - edge(own)};
}

}  // namespace

Team::Team(int size) {
  for (int index = 1; index < size; ++index) others_.emplace_back([this, index] { serve(index); });
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

double read_streams(std::span<const float> x, int streams, Team& team) {
  if (std::find(std::begin(kStreamCounts), std::end(kStreamCounts), streams) ==
      std::end(kStreamCounts))
    throw std::logic_error("read_streams: 1, 2, 4 or 8 streams");
  std::atomic<double> total = 0;
  team.run([&](int index) {
    const auto [begin, length] = range_of(x.size(), index, team);
    total += HWY_DYNAMIC_DISPATCH(Read)(x.data() + begin, length, streams);
  });
  return total;
}

void copy_array(std::span<const float> from, std::span<float> to, Team& team) {
  team.run([&](int index) {
    const auto [begin, length] = range_of(from.size(), index, team);
    HWY_DYNAMIC_DISPATCH(Copy)(from.data() + begin, length, to.data() + begin);
  });
}

void triad(std::span<const float> a, std::span<const float> b, float factor, std::span<float> to,
           Team& team) {
  team.run([&](int index) {
    const auto [begin, length] = range_of(a.size(), index, team);
    HWY_DYNAMIC_DISPATCH(Triad)
    (a.data() + begin, b.data() + begin, factor, length, to.data() + begin);
  });
}

void add_array(std::span<const float> from, std::span<float> to, Team& team) {
  team.run([&](int index) {
    const auto [begin, length] = range_of(from.size(), index, team);
    HWY_DYNAMIC_DISPATCH(Update)(from.data() + begin, length, to.data() + begin);
  });
}

void fill_array(float value, std::span<float> to, Team& team) {
  team.run([&](int index) {
    const auto [begin, length] = range_of(to.size(), index, team);
    HWY_DYNAMIC_DISPATCH(FillFloats)(value, length, to.data() + begin);
  });
}

double multiply_add(std::size_t operations, Team& team) {
  std::atomic<double> total = 0;
  team.run([&](int /*index*/) { total += HWY_DYNAMIC_DISPATCH(MultiplyAdd)(operations, 1.0F); });
  return total;
}

std::string place_name(const Inputs& inputs, int threads) {
  return fmt::format("{}:{}/{}/threads:{}", inputs.tensor().name, inputs.elements(),
                     to_string(inputs.residency()), threads);
}

TimedRoofline::TimedRoofline(const Inputs& inputs, const BenchOptions& options)
    : inputs_(inputs),
      min_time_(std::min(options.min_time, std::max(kTimeShare * options.min_time, kMinSeconds))) {
  // With more threads the fastest read may be that of one, for example of few elements.
  if (std::ranges::find(options.threads, 1) == options.threads.end())
    teams_.push_back(std::make_unique<Team>(1));
  for (const int count : options.threads) teams_.push_back(std::make_unique<Team>(count));
}

Timed TimedRoofline::timed_one(const std::string& what, int threads,
                               std::function<void()> call) const {
  const double count = count_of(what, threads);
  return {.name = what + "/" + place_name(inputs_, threads),
          .elements = count,
          .bytes = what == kMultiplyAddName ? 0 : count * sizeof(float),
          .prepare = [] { set_simd_target("best"); },
          .call = std::move(call),
          .min_time = min_time_,
          .every = 4};
}

std::vector<Timed> TimedRoofline::timed() {
  std::vector<Timed> what;
  for (const std::unique_ptr<Team>& each : teams_) {
    Team& team = *each;
    for (const int streams : kStreamCounts) {
      what.push_back(timed_one(read_name(streams), team.size(), [this, streams, &team] {
        benchmark::DoNotOptimize(read_streams(inputs_.gradient(step_++), streams, team));
      }));
    }
    what.push_back(timed_one("copy", team.size(), [this, &team] {
      copy_array(inputs_.gradient(step_), inputs_.output(step_), team);
      ++step_;
    }));
    what.push_back(timed_one("triad", team.size(), [this, &team] {
      triad(inputs_.gradient(step_), inputs_.neighbour(step_), 0.5F, inputs_.output(step_), team);
      ++step_;
    }));
    // The arrays of reread, update and store do not rotate, as a compressor's own arrays do not.
    what.push_back(timed_one("reread", team.size(), [this, &team] {
      benchmark::DoNotOptimize(read_streams(inputs_.gradient(0), kRereadStreams, team));
    }));
    what.push_back(timed_one("update", team.size(), [this, &team] {
      add_array(inputs_.gradient(step_++), inputs_.spare_output(0), team);
    }));
    what.push_back(timed_one("store", team.size(),
                             [this, &team] { fill_array(1.0F, inputs_.spare_output(1), team); }));
    what.push_back(timed_one(kMultiplyAddName, team.size(), [&team] {
      benchmark::DoNotOptimize(multiply_add(kOperations, team));
    }));
  }
  return what;
}

// Returns the elements of one call, or the operations of one multiply_add on all threads.
double TimedRoofline::count_of(const std::string& what, int threads) const {
  return what == kMultiplyAddName ? static_cast<double>(kOperations) * threads
                                  : static_cast<double>(inputs_.elements());
}

double TimedRoofline::nanoseconds(const Measurement& measured, const std::string& what,
                                  int threads) const {
  return 1e9 * median(measured.timings.at(what + "/" + place_name(inputs_, threads)).seconds) /
         count_of(what, threads);
}

double TimedRoofline::best_nanoseconds(const Measurement& measured, const std::string& what,
                                       int threads) const {
  double best = std::numeric_limits<double>::infinity();
  for (const std::unique_ptr<Team>& team : teams_)
    if (team->size() <= threads) best = std::min(best, nanoseconds(measured, what, team->size()));
  return best;
}

RooflineFigures TimedRoofline::figures(const Measurement& measured, int threads) const {
  RooflineFigures figures;
  for (const int streams : kStreamCounts) {
    figures.read[streams] = nanoseconds(measured, read_name(streams), threads);
    figures.t_r = std::min(figures.t_r, best_nanoseconds(measured, read_name(streams), threads));
  }
  figures.copy = nanoseconds(measured, "copy", threads);
  figures.triad = nanoseconds(measured, "triad", threads);
  // An array that does not rotate is read at least as fast as one that does, for which the best
  // number of streams is known.
  figures.reread = std::min(best_nanoseconds(measured, "reread", threads), figures.t_r);
  figures.update = best_nanoseconds(measured, "update", threads);
  // Within a copy, reads and writes overlap.
  figures.store = std::min(best_nanoseconds(measured, "store", threads),
                           std::max(0.0, figures.copy - figures.t_r));
  figures.multiply_add = best_nanoseconds(measured, kMultiplyAddName, threads);
  return figures;
}

double encode_floor(const EncodeTraffic& traffic, double bits, const RooflineFigures& roofline) {
  constexpr double kFloatBits = 32;
  const double first = traffic.residual ? roofline.update : roofline.t_r;
  const double moved =
      first + (traffic.inputs - 1) * roofline.t_r + (traffic.sweeps - 1) * roofline.reread +
      traffic.states * (roofline.update - roofline.t_r) + bits / kFloatBits * roofline.store;
  return std::max(moved, traffic.multiply_adds * roofline.multiply_add);
}

}  // namespace thinpipe
#endif  // HWY_ONCE
