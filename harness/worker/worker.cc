#include "harness/worker/worker.h"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/machine_load.h"
#include "compressors/cuda/gpu.h"
#include "compressors/plugin/loader.h"
#include "compressors/simd.h"
#include "harness/launch/control_socket.h"
#include "harness/machine/fingerprint.h"
#include "harness/machine/gpu.h"
#include "harness/machine/machine.h"
#include "harness/worker/feed_json.h"
#include "harness/worker/reference.h"
#include "harness/worker/sockets.h"
#include "harness/worker/step_answer.h"
#include "workloads/exchange/mpi_device.h"
#include "workloads/exchange/mpi_patterns.h"
#include "workloads/exchange/patterns.h"
#include "workloads/exchange/push_pull_pattern.h"
#include "workloads/exchange/ring_probe.h"
#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// Most training clusters run cubic, and it keeps a steady rate; bbr, the default of some kernels,
// drains its window every 10 s to measure round trips.
constexpr const char* kCongestionControl = "cubic";

template <typename Piece>
json projections_of(const std::vector<Piece>& pieces, std::uint64_t step) {
  json all = json::array();
  for (const Piece& piece : pieces)
    all.push_back(project(piece, projection_seed(step, all.size())));
  return all;
}

}  // namespace

Worker::Worker(MessageSocket socket, std::string scratch)
    : socket_(std::move(socket)), scratch_(std::move(scratch)) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  connect_all(MPI_COMM_WORLD);
  json hello = {{"type", "hello"}, {"rank", rank_}, {"ranks", ranks_}, {"mpi", version}};
  if (alone()) {
    watch_.emplace(socket_.descriptor());
    hello["congestion_control"] = congestion_control_in_force(socket_.descriptor());
    hello["machine"] = machine_description();
  } else {
    hello["congestion_control"] = set_congestion_control(kCongestionControl);
  }
  socket_.send(hello);
}

void Worker::serve() {
  while (const auto message = socket_.receive()) {
    if (message->at("do") == "quit") return;
    json said;
    try {
      said = answer(*message);
    } catch (const std::exception& error) {
      said = {{"type", "error"}, {"message", error.what()}};
    }
    if (!said.is_null()) socket_.send(said);
  }
}

json Worker::answer(const json& message) {
  const std::string what = message.at("do");
  if (what == "device") return describe_device();
  if (what == "prepare") return prepare(message);
  if (what == "load") return load(message);
  if (what == "step") return step(message);
  if (what == "account") return account(message);
  if (what == "compare") return compare();
  if (what == "stream") return stream(message);
  if (what == "probe") return probe(message);
  return nullptr;
}

const Trace& Worker::gradients_of(const json& message) {
  const std::string folder = message.at("trace");
  if (!own_trace_ || own_trace_->folder() != folder) {
    own_trace_.reset();  // two in memory at a time may be too many
    own_trace_ = std::make_unique<Trace>(open_gradients(folder));
  }
  return *own_trace_;
}

/// Ranks that share this machine take its GPUs round-robin.
RankDevice Worker::open_device() const {
  const char* const local = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");  // on a machine of its own
  return open_rank_gpu(!alone() ? rank_ : local == nullptr ? 0 : std::atoi(local));
}

json Worker::describe_device() const {
  if (server_) return {{"type", "device"}};  // which needs none
  const DeviceDescription found = open_device().description;
  return {{"type", "device"},
          {"bus", found.bus},
          {"device", device_json({found, std::nullopt})},
          {"mpi_takes_addresses", mpi_takes_device_addresses()}};
}

json Worker::prepare(const json& message) {
  replay_.reset();
  server_.reset();
  trace_ = &gradients_of(message);
  for (const std::string plugin : message.at("plugins")) load_plugin(plugin);
  ReplayOptions options;
  options.compressor = CompressorRules::parse(message.at("compressor").get<std::string>());
  options.feed = feed_of(message);
  options.seed = message.at("seed");
  options.compute_scale = message.at("compute_scale");
  options.stragglers = Stragglers::parse(message.value("stragglers", "none"));
  options.epochs_a_step = message.value("epochs_a_step", 0.0);
  options.time_scale = message.value("time_scale", 1.0);
  options.non_finite = message.at("non_finite") == "zero" ? NonFinite::kZero : NonFinite::kError;
  options.threads = message.at("threads");
  set_simd_target(message.at("simd"));
  const Spec pattern = parse_spec(message.at("pattern").get<std::string>());
  options.sparse_sums = find_pattern(pattern.name).can(Exchange::kSparseAllReduce);
  const int workers = ranks_ - servers_of(pattern);
  if (find_pattern(pattern.name).can(Exchange::kPushPull))
    options.servers = push_pull_options(pattern, workers);
  // Servers are no workers of a training and have no gradients.
  if (rank_ < workers && message.value("device", kDeviceCpu) != kDeviceCpu)
    options.device = open_device();
  if (rank_ < workers)
    prepare_worker(pattern, options, workers, message.at("steps"));
  else
    server_ = std::make_unique<ServerRole>(*trace_, options, scratch_);
  const std::uint64_t one = 1;  // what the workers' period is, they say
  return {{"type", "prepared"},
          {"trace", trace_->identity()},
          {"loads", replay_ && replay_->loads()},
          {"period", replay_ ? replay_->period() : one}};
}

void Worker::prepare_worker(const Spec& pattern, const ReplayOptions& options, int workers,
                            std::uint64_t steps) {
  replay_ = std::make_unique<Replay>(*trace_, options, rank_, workers);
  outer_reference_.reset();
  if (options.feed.outer) outer_reference_.emplace(*options.feed.outer);
  // A delayed method takes whole periods before and in the measured steps.
  replay_->prepare(steps + 2 * (replay_->period() - 1));
  if (replay_->averager() != nullptr)
    replay_->connect(std::make_unique<TwoShotPattern>(
        std::make_unique<MpiTransport>(MPI_COMM_WORLD, MpiTransport::Asks::kAtOnce),
        replay_->layout(), *replay_->averager()));
  else if (options.servers)
    replay_->connect(std::make_unique<PushPullPattern>(
        std::make_unique<MpiTransport>(MPI_COMM_WORLD), replay_->layout()));
  else
    replay_->connect([&](std::size_t capacity) {
      return make_mpi_pattern(pattern, MPI_COMM_WORLD, capacity,
                              options.device && mpi_takes_device_addresses());
    });
  if (alone())
    contribution_.assign(replay_->contribution_size(), 0);
  else
    contributions_ = std::make_unique<SharedContributions>(scratch_, rank_, workers,
                                                           replay_->contribution_size());
}

json Worker::load(const json& message) {
  if (replay_) replay_->load(message.at("index"));
  return {{"type", "loaded"}};
}

json Worker::step(const json& message) {
  if (server_) return stepped(server_->step(message.at("index"), message.value("moves", true)));
  // Reading them takes as long as a small message: not where the sweep does it for all.
  const ProcessorTime processors = alone() ? processor_time() : ProcessorTime{};
  const TransportCounters before = replay_->counters();
  const std::uint64_t index = message.at("index");
  wait_awake_until(message.value("begin", 0.0));
  WorkerStep step;
  static_cast<StepReport&>(step) =
      message.value("moves", true) ? replay_->step(index) : replay_->step_without_exchange(index);
  exchanged_ = step.exchanged;
  followed_ = false;
  step.sent = replay_->counters() - before;
  const ProcessorTime processors_after = alone() ? processor_time() : ProcessorTime{};
  step.processors = processors_after - processors;
  return stepped(step);
}

// Comparison of a step's result with references that did not cross the network.
void Worker::follow_outer() {
  if (outer_reference_ && exchanged_ && !followed_)
    outer_reference_->follow(replay_->aggregate(), replay_->outer()->velocity());
  followed_ = true;
}

json Worker::account(const json& message) {
  if (server_) return server_->account(message.at("index"));
  const bool check = message.at("check");
  if (check || outer_reference_) replay_->fetch();
  follow_outer();
  json said = {{"type", "accounted"},
               {"relative_error", replay_->relative_error(message.at("index"))}};
  if (check) {
    replay_->own_contribution(alone() ? contribution_ : contributions_->own());
    if (alone() && (replay_->layout().servers > 0 || replay_->takes_mean())) {
      checked_step_ = message.at("index");
      said["projections"] = projections_of(contribution_pieces(), checked_step_);
    }
    if (const UnitAverager* averager = replay_->averager())
      said["served"] = {{"relative_error", averager->relative_error()}};
  }
  return said;
}

// As long as what they are held against: results, or what each server has the mean of.
std::vector<std::vector<float>> Worker::contribution_pieces() const {
  const std::span<const float> all(contribution_);
  std::vector<std::vector<float>> pieces;
  for (int server = 0; server < replay_->layout().servers; ++server)
    pieces.push_back(part_of_server(replay_->units(), replay_->layout(), server, all));
  if (!pieces.empty()) return pieces;
  std::size_t from = 0;
  for (const std::span<const float> result : replay_->results()) {
    const auto piece = all.subspan(from, result.size());
    pieces.emplace_back(piece.begin(), piece.end());
    from += result.size();
  }
  return pieces;
}

json Worker::compare() {
  if (server_) return server_->compare();
  Digest digest;
  digest.add(replay_->aggregate());
  digest.add(replay_->update());
  json said = {{"type", "compared"}, {"digest", digest.text()}};
  if (outer_reference_) said["outer_error"] = outer_reference_->error_of(replay_->update());
  if (const PushPullLayout& layout = replay_->layout(); layout.servers > 0) {
    // The mean is the servers' to be held against contributions, what they answered is ours.
    json& parts = said["parts"] = json::array();
    for (int server = 0; server < layout.servers; ++server) {
      Digest part;
      part.add(part_of_server(replay_->units(), layout, server, replay_->aggregate()));
      parts.push_back(part.text());
    }
    if (const UnitAverager* averager = replay_->averager())
      said["served"] = compared_averages(*averager, rank_, checked_step_, contributions_.get());
  } else if (alone() && !replay_->takes_mean()) {
    // Projections are linear and what the pattern does is not: only equal bits can be told.
  } else if (alone()) {
    said["projections"] = projections_of(replay_->results(), checked_step_);
    json& largest = said["largest"] = json::array();
    for (const std::span<const float> piece : replay_->results()) {
      float most = 0;  // a NaN shows in the projection
      for (const float value : piece) most = std::max(most, std::fabs(value));
      largest.push_back(most);
    }
  } else if (replay_->takes_mean()) {
    said["error"] = contributions_->error_of(replay_->results());
  } else {
    reference_.resize(replay_->contribution_size());
    const auto all = contributions_->all();
    replay_->expected({all.begin(), all.end()}, reference_);
    const std::vector<RoundedSum> rounded = replay_->rounded_sums();
    for (const RoundedSum& sum : rounded)
      if (!sum.knows_order) {  // held against what rounding allows alone
        const auto there = replay_->aggregate().subspan(sum.begin, sum.size);
        std::copy(there.begin(), there.end(), reference_.begin() + std::ptrdiff_t(sum.begin));
      }
    said["error"] = contributions_->error_of(replay_->results(), reference_);
    if (!rounded.empty()) {
      const RoundingError error = contributions_->rounding_error_of(replay_->aggregate(), rounded);
      said["sum_error"] = error.relative;
      said["sum_error_of_bound"] = error.of_bound;
    }
  }
  return said;
}

json Worker::stream(const json& message) {
  MpiTransport transport(MPI_COMM_WORLD);
  return {{"type", "streamed"},
          {"goodput", stream_round_ring(transport, {.settle = message.at("settle"),
                                                    .seconds = message.at("seconds")})}};
}

json Worker::probe(const json& message) {
  MpiTransport transport(MPI_COMM_WORLD);
  const RingProbe found =
      probe_ring(transport, {.bytes = message.at("bytes"), .pause = message.at("pause")});
  return {{"type", "probed"}, {"small", found.small}, {"large", found.large}};
}

int worker_program(const char* name, int argc, char** argv, const MakeWorker& make) {
  if (argc != 2 && argc != 3) {
    fmt::print(stderr, "usage: {} CONTROL [SCRATCH] (started by thinpipe)\n", name);
    return kExitUsage;
  }
  // Waits end when they should, not up to 50 us later.
  prctl(PR_SET_TIMERSLACK, 1UL);
  // Where exchanges overlap with the rest of a step, a thread of their own carries them out; never
  // do two threads ask MPI for something at a time.
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  if (provided < MPI_THREAD_SERIALIZED) {
    fmt::print(stderr, "{}: this MPI does not let several threads exchange in turn\n", name);
    MPI_Abort(MPI_COMM_WORLD, kExitFailed);
  }
  int result = kExitGood;
  try {
    make(connect_to_sweep(argv[1]), argc == 3 ? argv[2] : "")->serve();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    result = kExitFailed;
  }
  if (result != kExitGood) MPI_Abort(MPI_COMM_WORLD, result);
  MPI_Finalize();
  return result;
}

}  // namespace thinpipe
