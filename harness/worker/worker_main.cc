// thinpipe-worker CONTROL [SCRATCH]: one rank of a replayed job. The sweep tells it over the
// control socket what to do; harness/launch/launch.h lists the messages. CONTROL is a path where
// ranks are on emulated hosts, which share memory in SCRATCH, and tcp:... where they are on
// machines of their own.
#include <mpi.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "base/wait_awake.h"
#include "compressors/plugin/loader.h"
#include "compressors/simd.h"
#include "harness/doctor/machine.h"
#include "harness/launch/control_door.h"
#include "harness/launch/processor_time.h"
#include "harness/fingerprint/fingerprint.h"
#include "harness/worker/control_watch.h"
#include "harness/worker/feed_json.h"
#include "harness/worker/outer_reference.h"
#include "harness/worker/projections.h"
#include "harness/worker/server_role.h"
#include "harness/worker/shared_contributions.h"
#include "harness/worker/sockets.h"
#include "workloads/exchange/mpi_patterns.h"
#include "workloads/exchange/mpi_transport.h"
#include "workloads/exchange/patterns.h"
#include "workloads/exchange/push_pull_pattern.h"
#include "workloads/exchange/ring_probe.h"
#include "workloads/exchange/ring_stream.h"
#include "workloads/replay/replay.h"
#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// What most training clusters run, and what keeps a steady rate: bbr, the default of some kernels,
// drains its window every 10 s to measure round trips.
constexpr const char* kCongestionControl = "cubic";

json timeline_json(const Timeline& timeline) {
  json spans = json::array();
  for (const PhaseSpan& span : timeline)
    spans.push_back({to_string(span.phase), span.bucket, span.begin, span.end});
  return spans;
}

class Worker {
 public:
  /// @param scratch  where ranks share memory; "" on a machine of its own
  Worker(MessageSocket socket, std::string scratch)
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

  void serve() {
    while (const auto message = socket_.receive()) {
      const std::string what = message->at("do");
      if (what == "quit") return;
      try {
        if (what == "prepare") prepare(*message);
        if (what == "load") load(*message);
        if (what == "step") step(*message);
        if (what == "account") account(*message);
        if (what == "compare") compare();
        if (what == "stream") stream(*message);
        if (what == "probe") probe(*message);
      } catch (const std::exception& error) {
        socket_.send({{"type", "error"}, {"message", error.what()}});
      }
    }
  }

 private:
  // On a machine that no other rank shares.
  bool alone() const { return scratch_.empty(); }

  void prepare(const json& message) {
    const std::string folder = message.at("trace");
    if (!trace_ || trace_->folder() != folder) {
      replay_.reset();
      trace_.reset();  // two in memory at a time may be too many
      trace_ = std::make_unique<Trace>(open_gradients(folder));
    }
    for (const std::string plugin : message.at("plugins")) load_plugin(plugin);
    ReplayOptions options;
    options.compressor = CompressorRules::parse(message.at("compressor").get<std::string>());
    options.feed = feed_of(message);
    options.seed = message.at("seed");
    options.compute_scale = message.at("compute_scale");
    options.stragglers = Stragglers::parse(message.value("stragglers", "none"));
    options.time_scale = message.value("time_scale", 1.0);
    options.non_finite = message.at("non_finite") == "zero" ? NonFinite::kZero : NonFinite::kError;
    options.threads = message.at("threads");
    set_simd_target(message.at("simd"));
    replay_.reset();
    server_.reset();
    const Spec pattern = parse_spec(message.at("pattern").get<std::string>());
    options.sparse_sums = find_pattern(pattern.name).can(Exchange::kSparseAllReduce);
    const int workers = ranks_ - servers_of(pattern);
    if (workers < ranks_) options.servers = push_pull_options(pattern);
    if (rank_ < workers)
      prepare_worker(pattern, options, workers, message.at("steps"));
    else
      server_ = std::make_unique<ServerRole>(*trace_, options, scratch_);
    const std::uint64_t one = 1;  // what the workers' period is, they say
    socket_.send({{"type", "prepared"},
                  {"trace", trace_->identity()},
                  {"loads", replay_ && replay_->loads()},
                  {"period", replay_ ? replay_->period() : one}});
  }

  void prepare_worker(const Spec& pattern, const ReplayOptions& options, int workers,
                      std::uint64_t steps) {
    replay_ = std::make_unique<Replay>(*trace_, options, rank_, workers);
    outer_reference_.reset();
    if (options.feed.outer) outer_reference_.emplace(*options.feed.outer);
    // Of a delayed method, whole periods before and in what is measured.
    replay_->prepare(steps + 2 * (replay_->period() - 1));
    if (options.servers)
      replay_->connect(std::make_unique<PushPullPattern>(
          std::make_unique<MpiTransport>(MPI_COMM_WORLD), replay_->layout()));
    else
      replay_->connect([&](std::size_t capacity) {
        return make_mpi_pattern(pattern, MPI_COMM_WORLD, capacity);
      });
    if (alone())
      contribution_.assign(replay_->contribution_size(), 0);
    else
      contributions_ = std::make_unique<SharedContributions>(scratch_, rank_, workers,
                                                             replay_->contribution_size());
  }

  void load(const json& message) {
    if (replay_) replay_->load(message.at("index"));
    socket_.send({{"type", "loaded"}});
  }

  void step(const json& message) {
    if (server_)
      return socket_.send(server_->step(message.at("index"), message.value("moves", true)));
    // Reading them takes as long as a small message: not where the sweep does it for all.
    const ProcessorTime processors = alone() ? processor_time() : ProcessorTime{};
    const TransportCounters before = replay_->counters();
    const std::uint64_t index = message.at("index");
    wait_awake_until(message.value("begin", 0.0));
    const StepReport report =
        message.value("moves", true) ? replay_->step(index) : replay_->step_without_exchange(index);
    exchanged_ = report.exchanged;
    const TransportCounters after = replay_->counters();
    const ProcessorTime processors_after = alone() ? processor_time() : ProcessorTime{};
    socket_.send({{"type", "stepped"},
                  {"processors_idle", processors_after.idle - processors.idle},
                  {"processors_all", processors_after.all - processors.all},
                  {"compute", report.compute},
                  {"late", report.late},
                  {"compress", report.compress},
                  {"compress_cpu", report.compress_cpu},
                  {"exchange", report.exchange},
                  {"decode", report.decode},
                  {"total", report.total},
                  {"exposed", report.exposed},
                  {"link_idle", report.link_idle},
                  {"begun", report.begun},
                  {"timeline", timeline_json(report.timeline)},
                  {"summed_bytes", report.summed_bytes},
                  {"pulled_bytes", report.pulled_bytes},
                  {"wanted", report.wanted},
                  {"codec", report.codec},
                  {"codec_decode", report.codec_decode},
                  {"arrived", report.arrived},
                  {"lag", report.lag},
                  {"overrun", report.overrun},
                  {"payload_bytes", report.payload_bytes},
                  {"target", report.target},
                  {"selected", report.selected},
                  {"exchanged", report.exchanged},
                  {"sent_messages", after.messages - before.messages},
                  {"sent_bytes", after.bytes - before.bytes},
                  {"sent_frames", after.frames - before.frames}});
  }

  void account(const json& message) {
    if (server_) return socket_.send(server_->account(message.at("index")));
    if (outer_reference_ && exchanged_)
      outer_reference_->follow(replay_->aggregate(), replay_->outer()->velocity());
    json answer = {{"type", "accounted"},
                   {"relative_error", replay_->relative_error(message.at("index"))}};
    if (message.at("check")) {
      replay_->own_contribution(alone() ? contribution_ : contributions_->own());
      if (alone() && (replay_->layout().servers > 0 || replay_->takes_mean())) {
        checked_step_ = message.at("index");
        answer["projections"] = projections(contribution_pieces());
      }
    }
    socket_.send(answer);
  }

  // As long as what they are held against: results, or what each server has the mean of.
  std::vector<std::vector<float>> contribution_pieces() const {
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

  void compare() {
    if (server_) return socket_.send(server_->compare());
    Digest digest;
    digest.add(replay_->aggregate());
    digest.add(replay_->update());
    json answer = {{"type", "compared"}, {"digest", digest.text()}};
    if (outer_reference_) answer["outer_error"] = outer_reference_->error_of(replay_->update());
    if (const PushPullLayout& layout = replay_->layout(); layout.servers > 0) {
      // The mean is the servers' to be held against contributions, what they answered is ours.
      json& parts = answer["parts"] = json::array();
      for (int server = 0; server < layout.servers; ++server) {
        Digest part;
        part.add(part_of_server(replay_->units(), layout, server, replay_->aggregate()));
        parts.push_back(part.text());
      }
    } else if (alone() && !replay_->takes_mean()) {
      // Projections are linear and what the pattern does is not: only equal bits can be told.
    } else if (alone()) {
      answer["projections"] = projections(replay_->results());
      json& largest = answer["largest"] = json::array();
      for (const std::span<const float> piece : replay_->results()) {
        float most = 0;  // a NaN shows in the projection
        for (const float value : piece) most = std::max(most, std::fabs(value));
        largest.push_back(most);
      }
    } else if (replay_->takes_mean()) {
      answer["error"] = contributions_->error_of(replay_->results());
    } else {
      reference_.resize(replay_->contribution_size());
      const auto all = contributions_->all();
      replay_->expected({all.begin(), all.end()}, reference_);
      answer["error"] = contributions_->error_of(replay_->results(), reference_);
    }
    socket_.send(answer);
  }

  template <typename Piece>
  json projections(const std::vector<Piece>& pieces) const {
    json all = json::array();
    for (const Piece& piece : pieces)
      all.push_back(project(piece, projection_seed(checked_step_, all.size())));
    return all;
  }

  void stream(const json& message) {
    MpiTransport transport(MPI_COMM_WORLD);
    socket_.send({{"type", "streamed"},
                  {"goodput", stream_round_ring(transport, {.settle = message.at("settle"),
                                                            .seconds = message.at("seconds")})}});
  }

  void probe(const json& message) {
    MpiTransport transport(MPI_COMM_WORLD);
    const RingProbe found =
        probe_ring(transport, {.bytes = message.at("bytes"), .pause = message.at("pause")});
    socket_.send({{"type", "probed"}, {"small", found.small}, {"large", found.large}});
  }

  MessageSocket socket_;
  std::string scratch_;
  int rank_ = 0, ranks_ = 1;
  std::unique_ptr<Trace> trace_;
  std::unique_ptr<Replay> replay_;                      ///< of a worker
  std::unique_ptr<ServerRole> server_;                  ///< of a parameter server
  std::unique_ptr<SharedContributions> contributions_;  ///< of ranks that share memory
  std::vector<float> contribution_;                     ///< this rank's, where they do not
  std::vector<float> reference_;                        ///< where that is not a mean of them
  std::uint64_t checked_step_ = 0;
  bool exchanged_ = false;                         ///< in the last step
  std::optional<OuterReference> outer_reference_;  ///< where there is an outer optimiser
  std::optional<ControlWatch> watch_;
};

}  // namespace
}  // namespace thinpipe

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    fmt::print(stderr, "usage: thinpipe-worker CONTROL [SCRATCH] (started by thinpipe run)\n");
    return thinpipe::kExitUsage;
  }
  // Waits end when they should, not up to 50 us later.
  prctl(PR_SET_TIMERSLACK, 1UL);
  // Where exchanges overlap with the rest of a step, a thread of their own carries them out; never
  // do two threads ask MPI for something at a time.
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  if (provided < MPI_THREAD_SERIALIZED) {
    fmt::print(stderr, "thinpipe-worker: this MPI does not let several threads exchange in turn\n");
    MPI_Abort(MPI_COMM_WORLD, thinpipe::kExitFailed);
  }
  int result = thinpipe::kExitGood;
  try {
    thinpipe::Worker worker(thinpipe::connect_to_sweep(argv[1]), argc == 3 ? argv[2] : "");
    worker.serve();
  } catch (const std::exception& error) {
    fmt::print(stderr, "thinpipe-worker: {}\n", error.what());
    result = thinpipe::kExitFailed;
  }
  if (result != thinpipe::kExitGood) MPI_Abort(MPI_COMM_WORLD, result);
  MPI_Finalize();
  return result;
}
