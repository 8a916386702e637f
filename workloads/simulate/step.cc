// The steps of all ranks in simulated time.
#include "workloads/simulate/cluster.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <simgrid/s4u.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/splitmix64.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/push_pull_collective.h"
#include "workloads/collectives/push_pull_server.h"
#include "workloads/collectives/streams.h"
#include "workloads/simulate/folded_memory.h"

namespace thinpipe {
namespace {

namespace s4u = simgrid::s4u;

constexpr double kRestSeconds = 1e-3;  // between steps, beyond the links' refill

std::size_t whole(double bytes) { return static_cast<std::size_t>(std::llround(bytes)); }

bool is_folded(int ranks) { return ranks > kMaxUnfoldedRanks; }

// Returns the bytes of one rank's message in an all-gather.
std::size_t message_bytes(const ExchangeWork& exchange, int rank, int ranks) {
  if (exchange.bytes.empty()) return 0;
  if (is_folded(ranks)) return whole(exchange.mean(ranks));
  return whole(exchange.bytes[static_cast<std::size_t>(rank) % exchange.bytes.size()]);
}

// Arrays that all ranks share and that repeat a few pages, since nobody reads the sums and the
// messages in them.
class SharedArrays {
 public:
  /// @param payload  bytes of the longest payload that servers take or send
  SharedArrays(const SimulatedWork& work, std::size_t payload) {
    std::size_t summed = 0, gathered = 0;
    for (const SimulatedBucket& bucket : work.buckets)
      for (const ExchangeWork& one : bucket.exchanges)
        for (int rank = 0; rank < work.ranks; ++rank) {
          if (one.operation == Exchange::kAllReduce)
            summed = std::max(summed, whole(one.mean(work.ranks)));
          if (one.operation == Exchange::kAllGather)
            gathered = std::max(gathered, message_bytes(one, rank, work.ranks));
        }
    // A message and its length fill whole pages, because messages are folded page by page.
    constexpr std::size_t kPage = RepeatedPages::kPage;
    capacity_ = (gathered + kStreamLengthBytes + kPage - 1) / kPage * kPage - kStreamLengthBytes;
    const std::size_t longest = std::max({summed, gathered, payload});
    // The pages stay in a core's cache, and their repetitions below the kernel's limit.
    constexpr std::size_t kCached = 1 << 17, kMaxRepetitions = 1000;
    pages_.emplace(std::max(kCached, longest / kMaxRepetitions));
    own_ = FoldedMemory(*pages_, longest);
    result_ = FoldedMemory(*pages_, summed);
  }

  /// Returns the longest message that an all-gather may carry, in bytes.
  std::size_t capacity() const { return capacity_; }
  std::span<const std::byte> message(std::size_t bytes) const { return {own_.data(), bytes}; }
  std::span<const float> own(std::size_t elements) const {
    return {reinterpret_cast<const float*>(own_.data()), elements};
  }
  std::span<float> result(std::size_t elements) const {
    return {reinterpret_cast<float*>(result_.data()), elements};
  }

 private:
  std::size_t capacity_ = 0;
  std::optional<RepeatedPages> pages_;
  FoldedMemory own_, result_;
};

// A server's work on a unit, which only takes time.
class TimedAggregator : public UnitAggregator {
 public:
  TimedAggregator(const std::vector<UnitWork>& units, const SharedArrays& arrays)
      : units_(units), arrays_(arrays) {}

  void add(std::size_t unit, int, std::span<const std::byte>) override {
    simulate_for(units_[unit].decode);
  }
  std::span<const std::byte> answer(std::size_t unit) override {
    simulate_for(units_[unit].compress);
    return arrays_.message(whole(units_[unit].pull));
  }

 private:
  const std::vector<UnitWork>& units_;
  const SharedArrays& arrays_;
};

// The units of all buckets, one after the other. Where every rank is a server, each unit has a
// slice for every rank.
struct ServedUnits {
  PushPullLayout layout;
  std::vector<UnitWork> units;
  std::vector<std::vector<std::size_t>> of_bucket;

  explicit ServedUnits(const SimulatedWork& work) {
    const PushPullOptions options = push_pull_options(work.collective, work.ranks);
    layout = {.workers = work.ranks,
              .servers = options.servers,
              .colocated = options.colocated,
              .units = {}};
    const int slices = options.colocated ? work.ranks : 1;
    std::vector<std::size_t> elements;
    for (const SimulatedBucket& bucket : work.buckets) {
      std::vector<std::size_t>& own = of_bucket.emplace_back();
      for (const ExchangeWork& exchange : bucket.exchanges)
        for (const UnitWork& unit : exchange.units)
          for (int slice = 0; slice < slices; ++slice) {
            own.push_back(units.size());
            units.push_back(unit * (1.0 / slices));
            elements.push_back(whole(unit.elements / slices));
          }
    }
    std::vector<int> servers = partition_units(elements, options.servers, options.partition);
    for (std::size_t i = 0; i < units.size(); ++i)
      layout.units.push_back(
          {.name = "unit " + std::to_string(i),
           .elements = elements[i],
           .push_capacity = whole(units[i].push),
           .pull_capacity = whole(units[i].pull),
           .server = options.colocated ? static_cast<int>(i) % slices : servers[i]});
  }

  std::size_t longest() const {
    std::size_t bytes = 0;
    for (const ExchangeUnit& unit : layout.units)
      bytes = std::max({bytes, unit.push_capacity, unit.pull_capacity});
    return bytes;
  }
};

// Returns pairs at random positions, in ascending order.
void draw_pairs(std::size_t count, std::size_t dimension, std::uint64_t seed,
                std::vector<std::uint32_t>& indices, std::vector<float>& values) {
  SplitMix64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random.next() >> 11) * 0x1p-53; };
  indices.resize(count);
  values.resize(count);
  // One position of each of `count` ranges; these are not empty, as count <= dimension.
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = i * dimension / count, end = (i + 1) * dimension / count;
    indices[i] = static_cast<std::uint32_t>(
        begin + static_cast<std::size_t>(uniform() * static_cast<double>(end - begin)));
    values[i] = static_cast<float>(uniform() - 0.5);
  }
}

// The parts that all ranks share.
struct Simulation {
  const SimulatedWork& work;
  const ServedUnits* served;  ///< null without servers
  const SharedArrays& arrays;
  SimulatedCluster& cluster;
  s4u::Barrier& begin;
  int hosts;    ///< at the barrier
  double rest;  ///< s between steps
  SimulatedSteps& steps;
  int& waits;                    ///< at the barrier, of all hosts
  std::vector<double>& carried;  ///< SimulatedRankStep::carried before each step

  // Links rest, and all ranks begin at the same moment.
  void begin_step() const {
    simulate_for(rest);
    // When the last host comes, the step before has sent all of its messages, and the next none.
    if (++waits % hosts == 0) carried.push_back(cluster.take_carried());
    begin.wait();
  }
};

// A parameter server on a host of its own: it answers all of its units in every step.
class ServerProgram {
 public:
  ServerProgram(const Simulation& simulation, int server, std::unique_ptr<Transport> transport)
      : simulation_(simulation),
        transport_(std::move(transport)),
        aggregator_(simulation.served->units, simulation.arrays),
        server_(*transport_, simulation.served->layout, server) {}

  void serve() {
    for (std::size_t step = 0; step < simulation_.work.steps.size(); ++step) {
      simulation_.begin_step();
      server_.step(aggregator_, server_.units());
    }
  }

 private:
  const Simulation& simulation_;
  std::unique_ptr<Transport> transport_;
  TimedAggregator aggregator_;
  PushPullServer server_;
};

// One rank's programs: its steps, and where exchanges overlap with them, the exchanges.
class RankProgram {
 public:
  RankProgram(const Simulation& simulation, int rank, std::unique_ptr<Transport> transport)
      : work_(simulation.work),
        rank_(rank),
        transport_(*transport),
        simulation_(simulation),
        arrays_(simulation.arrays),
        steps_(simulation.steps) {
    if (const ServedUnits* const served = simulation.served) {
      aggregator_.emplace(served->units, arrays_);
      if (served->layout.colocated)
        collective_ =
            std::make_unique<TwoShotCollective>(std::move(transport), served->layout, *aggregator_);
      else
        collective_ = std::make_unique<PushPullCollective>(std::move(transport), served->layout);
      return;
    }
    collective_ = make_collective(work_.collective, std::move(transport), arrays_.capacity());
  }

  void take_steps() {
    for (std::size_t step = 0; step < work_.steps.size(); ++step) {
      simulation_.begin_step();
      SimulatedRankStep& report = report_of(step);
      const double begin = simulated_now();
      const TransportCounters before = transport_.counters();
      report.compute = work_.steps[step][static_cast<std::size_t>(rank_)];
      const double stall =
          work_.stalls.empty() ? 0 : work_.stalls[step][static_cast<std::size_t>(rank_)];
      if (work_.kind == PipelineKind::kSerial)
        serial_step(report);
      else
        overlapped_step(stall, report);
      const TransportCounters sent = transport_.counters() - before;
      report.total = simulated_now() - begin;
      report.link_idle = report.total - report.exchange;
      report.sent_bytes = static_cast<double>(sent.bytes);
      report.sent_messages = static_cast<double>(sent.messages);
    }
  }

  // Exchanges the buckets of all steps as they are compressed.
  void exchange_all() {
    for (std::size_t step = 0; step < work_.steps.size(); ++step)
      for (std::size_t bucket = 0; bucket < work_.buckets.size(); ++bucket) {
        compressed_->acquire();
        report_of(step).exchange += exchange(bucket);
        exchanged_->release();
      }
  }

 private:
  SimulatedRankStep& report_of(std::size_t step) {
    return steps_[step][static_cast<std::size_t>(rank_)];
  }

  void serial_step(SimulatedRankStep& report) {
    simulate_for(report.compute);
    for (const SimulatedBucket& bucket : work_.buckets) report.compress += bucket.compress;
    simulate_for(report.compress);
    for (std::size_t bucket = 0; bucket < work_.buckets.size(); ++bucket)
      report.exchange += exchange(bucket);
    report.exposed = report.exchange;
    for (const SimulatedBucket& bucket : work_.buckets) report.decode += bucket.decode;
    simulate_for(report.decode);
  }

  // As schedule_step() of workloads/predict/pipeline.h, but each exchange takes its simulated time.
  void overlapped_step(double stall, SimulatedRankStep& report) {
    const bool beside = work_.kind == PipelineKind::kBeside;
    const double begin = simulated_now();
    const double slower = work_.compute > 0 ? (report.compute - stall) / work_.compute : 1;
    double held_up = 0;  // delay of the backward pass
    std::size_t sent = 0, decoded = 0;
    const auto decode_next = [&] {
      const double seconds = work_.buckets[decoded++].decode;
      report.decode += seconds;
      simulate_for(seconds);
    };
    const auto pass_until = [&](double moment) {
      while (beside && decoded < sent && is_exchanged_by(moment)) decode_next();
      simulate_until(moment);
    };
    for (const SimulatedBucket& bucket : work_.buckets) {
      pass_until(begin + stall + bucket.ready * slower + held_up);
      simulate_for(bucket.compress);
      report.compress += bucket.compress;
      if (!beside) held_up += bucket.compress;
      ++sent;
      compressed_->release();
    }
    pass_until(begin + report.compute + held_up);
    while (decoded < sent) {
      const double moment = simulated_now();
      exchanged_->acquire();
      report.exposed += simulated_now() - moment;
      decode_next();
    }
  }

  // Waits until a bucket is exchanged, or until `moment`; returns false in the second case.
  bool is_exchanged_by(double moment) {
    const double left = moment - simulated_now();
    return left > 0 && !exchanged_->acquire_timeout(left);
  }

  // Returns the s that the bucket's exchanges take.
  double exchange(std::size_t bucket) {
    const double begin = simulated_now();
    if (simulation_.served != nullptr) push_and_pull(simulation_.served->of_bucket[bucket]);
    for (const ExchangeWork& one : work_.buckets[bucket].exchanges) {
      if (one.operation != Exchange::kPushPull) exchange(one, work_.buckets[bucket].dimension);
      simulate_for(one.copies);
    }
    return simulated_now() - begin;
  }

  void push_and_pull(const std::vector<std::size_t>& units) {
    std::vector<UnitPayload> payloads;
    for (const std::size_t unit : units)
      payloads.push_back({unit, arrays_.message(whole(simulation_.served->units[unit].push))});
    PushPull& servers = operation<PushPull>(*collective_);
    const std::size_t push = servers.push(payloads);
    while (!servers.pull(push)) {
    }
  }

  void exchange(const ExchangeWork& one, double elements_of_bucket) {
    const float factor = 1.0F / static_cast<float>(work_.ranks);
    if (one.operation == Exchange::kAllReduce) {
      const std::size_t elements = whole(one.mean(work_.ranks) / sizeof(float));
      operation<AllReduce>(*collective_)
          .all_reduce(arrays_.own(elements), arrays_.result(elements), factor);
    } else if (one.operation == Exchange::kAllGather) {
      operation<AllGather>(*collective_)
          .all_gather(arrays_.message(message_bytes(one, rank_, work_.ranks)));
    } else {
      const std::size_t dimension = std::max<std::size_t>(1, whole(elements_of_bucket));
      const std::size_t count =
          std::min(dimension, whole(one.mean(work_.ranks) / sizeof(SparsePair)));
      draw_pairs(count, dimension, static_cast<std::uint64_t>(rank_), indices_, values_);
      operation<SparseAllReduce>(*collective_)
          .sparse_all_reduce({indices_, values_}, whole(one.k), dimension, factor);
    }
  }

  const SimulatedWork& work_;
  int rank_;
  Transport& transport_;  // of the collective
  const Simulation& simulation_;
  const SharedArrays& arrays_;
  SimulatedSteps& steps_;
  std::optional<TimedAggregator> aggregator_;  // of a rank that is a server too
  std::unique_ptr<Collective> collective_;
  // Count the buckets that wait to be exchanged and to be decoded.
  const s4u::SemaphorePtr compressed_ = s4u::Semaphore::create(0);
  const s4u::SemaphorePtr exchanged_ = s4u::Semaphore::create(0);
  std::vector<std::uint32_t> indices_;
  std::vector<float> values_;
};

}  // namespace

SimulatedSteps simulate(SimulatedNetwork network, const SimulatedWork& work) {
  bool needs_all = false;
  std::optional<ServedUnits> served;
  for (const SimulatedBucket& bucket : work.buckets)
    for (const ExchangeWork& one : bucket.exchanges) {
      if (std::string why = why_not_simulated(work.collective, one.operation,
                                              work.ranks + servers_of(work.collective));
          !why.empty())
        throw InputError("collective " + work.collective.to_string() + ": " + why);
      needs_all = needs_all || needs_contents(work.collective, one.operation);
      if (one.operation == Exchange::kPushPull && !served) served.emplace(work);
    }
  const Contents contents = needs_all ? Contents::kWhole : Contents::kHead;
  SimulatedSteps steps(work.steps.size());
  for (auto& ranks : steps) ranks.resize(static_cast<std::size_t>(work.ranks));
  const SharedArrays arrays(work, served ? served->longest() : 0);
  const int servers = served && !served->layout.colocated ? served->layout.servers : 0;
  SimulatedCluster cluster(std::move(network));
  const int hosts = work.ranks + servers;
  const s4u::BarrierPtr begin = s4u::Barrier::create(static_cast<unsigned>(hosts));
  int waits = 0;
  std::vector<double> carried;
  const Simulation simulation{.work = work,
                              .served = served ? &*served : nullptr,
                              .arrays = arrays,
                              .cluster = cluster,
                              .begin = *begin,
                              .hosts = hosts,
                              .rest = kRestSeconds + 2 * cluster.refill_time(),
                              .steps = steps,
                              .waits = waits,
                              .carried = carried};
  std::vector<std::unique_ptr<RankProgram>> programs;
  for (int rank = 0; rank < work.ranks; ++rank) {
    RankProgram& program = *programs.emplace_back(
        std::make_unique<RankProgram>(simulation, rank, cluster.transport(rank, contents)));
    cluster.add(rank, [&program] { program.take_steps(); });
    if (work.kind != PipelineKind::kSerial)
      cluster.add(rank, [&program] { program.exchange_all(); });
  }
  std::vector<std::unique_ptr<ServerProgram>> server_programs;
  for (int server = 0; server < servers; ++server) {
    const int host = work.ranks + server;
    ServerProgram& program = *server_programs.emplace_back(
        std::make_unique<ServerProgram>(simulation, server, cluster.transport(host, contents)));
    cluster.add(host, [&program] { program.serve(); });
  }
  cluster.run();
  carried.push_back(cluster.take_carried());
  for (std::size_t step = 0; step < steps.size(); ++step)
    for (SimulatedRankStep& rank : steps[step]) rank.carried = carried[step + 1];
  return steps;
}

}  // namespace thinpipe
