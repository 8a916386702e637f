#include "tests/cuda/replay/device_replay.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>

#include "tests/collectives/thread_transport.h"
#include "tests/cuda/simulated/simulated_device.h"
#include "tests/trace/sample_trace.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/flows.h"
#include "workloads/collectives/push_pull_collective.h"
#include "workloads/replay/parameter_server.h"

namespace thinpipe {
namespace {

// A ring between device pointers; simulated device memory is host memory.
class RingBetweenDevices : public RingCollective, public DeviceAllGather {
 public:
  RingBetweenDevices(std::unique_ptr<Transport> transport, std::size_t capacity, std::size_t rank)
      : RingCollective(std::move(transport), capacity), rank_(rank) {}
  bool takes_device_pointers() const override { return true; }
  void gather_words(std::span<const std::uint32_t> own, std::span<std::uint32_t> all) override {
    std::size_t at = 0;
    for (const auto message : all_gather(std::as_bytes(own))) {
      std::memcpy(all.data() + at, message.data(), message.size());
      at += own.size();
    }
  }
  void gather_on_device(const std::byte* device_own, std::span<const std::size_t> sizes,
                        std::byte* device_all) override {
    for (const auto message : all_gather({device_own, sizes[rank_]})) {
      std::memcpy(device_all, message.data(), message.size());
      device_all += message.size();
    }
  }

 private:
  std::size_t rank_;
};

bool is_collective_sparse(const std::string& collective) {
  return collective.rfind("gtopk", 0) == 0 || collective.rfind("oktopk", 0) == 0;
}

}  // namespace

// A tensor that takes several copies, one with a single element, and small ones.
void DeviceReplayTest::SetUp() { make_trace({{20, 25}, {20}, {1}, {300, 400}, {300}}); }

void DeviceReplayTest::make_trace(std::vector<std::vector<std::int64_t>> shapes) {
  SampleTrace what;
  what.shapes = std::move(shapes);
  what.ranks = 2;
  what.steps = 3;
  what.compute_seconds = 0;
  what.squares = true;
  std::filesystem::remove_all(folder_ / "trace");
  write_sample_trace(folder_ / "trace", what);
}

DeviceReplayTest::AllSteps DeviceReplayTest::run(const ReplayOptions& options, bool on_device,
                                                 int ranks, std::uint64_t steps,
                                                 const std::string& collective) {
  const Trace trace(folder_ / "trace");
  Mailboxes boxes;
  AllSteps all(static_cast<std::size_t>(ranks));
  const int servers = options.servers && !options.servers->colocated ? options.servers->servers : 0;
  std::vector<std::thread> threads;
  for (int server = 0; server < servers; ++server)
    threads.emplace_back([&, server] {
      ThreadTransport transport(boxes, ranks + server, ranks + servers);
      const auto plan = plan_buckets(trace.tensors(), options.compressor, options.bucketing);
      ParameterServer own(
          transport, replay_units(plan, *options.servers),
          {.exchange = *options.servers, .local_steps = options.bucketing.local_steps}, ranks,
          server);
      for (std::uint64_t step = 0; step < steps; ++step) own.step(step);
    });
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      ReplayOptions own = options;
      if (is_collective_sparse(collective)) own.sparse_sums = true;
      if (on_device) own.device = make_device_(rank);
      Replay replay(trace, own, rank, ranks);
      replay.prepare(steps);
      auto transport = std::make_unique<ThreadTransport>(boxes, rank, ranks + servers);
      if (replay.averager() != nullptr)
        replay.connect(std::make_unique<TwoShotCollective>(std::move(transport), replay.layout(),
                                                           *replay.averager()));
      else if (servers > 0)
        replay.connect(std::make_unique<PushPullCollective>(std::move(transport), replay.layout()));
      else
        replay.connect([&](std::size_t capacity) -> std::unique_ptr<Collective> {
          auto own_transport = std::make_unique<ThreadTransport>(boxes, rank, ranks);
          if (collective == kBetweenDevices)
            return std::make_unique<RingBetweenDevices>(std::move(own_transport), capacity,
                                                        static_cast<std::size_t>(rank));
          return make_collective(parse_spec(collective), std::move(own_transport), capacity);
        });
      EXPECT_TRUE(!on_device || replay.loads());
      for (std::uint64_t step = 0; step < steps; ++step)
        all[static_cast<std::size_t>(rank)].push_back(
            stepped(replay, step, saves_each_step_ || step + 1 == steps));
    });
  for (std::thread& thread : threads) thread.join();
  return all;
}

RankDevice DeviceReplayTest::simulated_device(int rank) {
  return cuda::simulated_rank_device(static_cast<std::uint64_t>(rank) + 7, rank);
}

DeviceReplayTest::Stepped DeviceReplayTest::stepped(Replay& replay, std::uint64_t step,
                                                    bool saves) const {
  Stepped stepped;
  replay.load(step);
  stepped.report = replay.step(step);
  if (checks_) replay.fetch();
  stepped.aggregate.assign(replay.aggregate().begin(), replay.aggregate().end());
  stepped.update.assign(replay.update().begin(), replay.update().end());
  stepped.relative_error = replay.checks().relative_error(step);
  stepped.sent = replay.counters();
  if (!checks_) return stepped;
  stepped.contribution.resize(replay.checks().contribution_size());
  replay.checks().own_contribution(stepped.contribution);
  if (saves && stepped.report.exchanged) replay.save_state(stepped.state);
  return stepped;
}

bool DeviceReplayTest::same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

void DeviceReplayTest::expect_same(const ReplayOptions& options, int ranks,
                                   const std::string& collective, std::uint64_t steps) {
  SCOPED_TRACE(options.compressor.to_string() + " " + options.bucketing.to_string() + " " +
               collective);
  const bool direct = collective == kBetweenDevices;
  const std::string compressor = options.compressor.to_string();
  const bool clears = compressor.find("clear") != std::string::npos ||
                      compressor.find("variance") != std::string::npos ||
                      compressor.find("hybrid") != std::string::npos;
  const AllSteps cpu = run(options, false, ranks, steps, direct ? "ring" : collective);
  const AllSteps gpu = run(options, true, ranks, steps, collective);
  for (std::size_t rank = 0; rank < cpu.size(); ++rank) {
    ASSERT_EQ(cpu[rank].size(), steps);
    ASSERT_EQ(gpu[rank].size(), steps);
    for (std::size_t step = 0; step < steps; ++step) {
      SCOPED_TRACE("rank " + std::to_string(rank) + ", step " + std::to_string(step));
      const Stepped &a = cpu[rank][step], &b = gpu[rank][step];
      EXPECT_TRUE(same_bits(a.aggregate, b.aggregate)) << "aggregates differ";
      EXPECT_TRUE(same_bits(a.update, b.update)) << "updates differ";
      EXPECT_TRUE(same_bits(a.contribution, b.contribution)) << "payloads differ";
      EXPECT_TRUE(a.state == b.state) << "states differ";
      // A GPU's state does not have what was lost at elements that the memory cleared.
      if (clears && a.relative_error != b.relative_error)
        EXPECT_TRUE(std::isnan(b.relative_error));
      else
        EXPECT_DOUBLE_EQ(a.relative_error, b.relative_error);
      EXPECT_EQ(a.report.payload_bytes, b.report.payload_bytes);
      EXPECT_EQ(a.report.summed_bytes, b.report.summed_bytes);
      EXPECT_EQ(a.report.pulled_bytes, b.report.pulled_bytes);
      EXPECT_EQ(a.report.target, b.report.target);
      EXPECT_EQ(a.report.selected, b.report.selected);
      EXPECT_EQ(a.report.exchanged, b.report.exchanged);
      if (!direct) {  // device pointers need a further message with lengths
        EXPECT_EQ(a.sent.bytes, b.sent.bytes);
        EXPECT_EQ(a.sent.messages, b.sent.messages);
      }
      EXPECT_EQ(a.report.copy_down, 0);
      EXPECT_EQ(a.report.copy_up, 0);
      EXPECT_TRUE(!direct || b.report.summed_bytes > 0 || b.report.copy_up == 0);
      if (!b.report.exchanged || direct) continue;
      EXPECT_GT(b.report.copy_down, 0);
      EXPECT_TRUE(b.report.copy_up > 0 || (ranks == 1 && !options.servers));
    }
  }
}

void DeviceReplayTest::expect_same_with_servers(const std::string& rules,
                                                const std::string& collective, int ranks) {
  SCOPED_TRACE(collective);
  for (const Bucketing& bucketing : {Bucketing{}, bucketed_bucketing(), local_bucketing()}) {
    ReplayOptions options = options_of(rules, bucketing);
    options.servers = push_pull_options(parse_spec(collective), ranks);
    expect_same(options, ranks);
  }
}

}  // namespace thinpipe
