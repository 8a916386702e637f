// thinpipe-worker CONTROL-SOCKET: one rank of a replayed job. The sweep tells it over the control
// socket what to do;harness/launch/launch.h lists the messages.
#include <mpi.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "compressors/plugin/loader.h"
#include "compressors/simd.h"
#include "harness/launch/message_socket.h"
#include "harness/worker/shared_contributions.h"
#include "harness/worker/sockets.h"
#include "workloads/exchange/patterns.h"
#include "workloads/replay/replay.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// What most training clusters run, and what keeps a steady rate: bbr, the default of some kernels,
// drains its window every 10 s to measure round trips.
constexpr const char* kCongestionControl = "cubic";

// FNV-1a over the bits of the aggregate: equal on all ranks when their results are.
std::string digest(std::span<const float> values) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const float value : values) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    hash = (hash ^ bits) * 1099511628211ULL;
  }
  return fmt::format("{:016x}", hash);
}

class Worker {
 public:
  Worker(MessageSocket socket, std::string scratch)
      : socket_(std::move(socket)), scratch_(std::move(scratch)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(version, &length);
    connect_all(MPI_COMM_WORLD);
    socket_.send({{"type", "hello"},
                  {"rank", rank_},
                  {"ranks", ranks_},
                  {"mpi", version},
                  {"congestion_control", set_congestion_control(kCongestionControl)}});
  }

  void serve() {
    while (const auto message = socket_.receive()) {
      const std::string what = message->at("do");
      if (what == "quit") return;
      try {
        if (what == "prepare") prepare(*message);
        if (what == "step") step(*message);
        if (what == "account") account(*message);
        if (what == "compare") compare();
      } catch (const std::exception& error) {
        socket_.send({{"type", "error"}, {"message", error.what()}});
      }
    }
  }

 private:
  void prepare(const json& message) {
    const std::string folder = message.at("trace");
    if (!trace_ || trace_->folder() != folder) trace_ = std::make_unique<Trace>(folder);
    for (const std::string plugin : message.at("plugins")) load_plugin(plugin);
    ReplayOptions options;
    options.compressor = parse_spec(message.at("compressor").get<std::string>());
    options.seed = message.at("seed");
    options.compute_scale = message.at("compute_scale");
    options.non_finite = message.at("non_finite") == "zero" ? NonFinite::kZero : NonFinite::kError;
    options.threads = message.at("threads");
    set_simd_target(message.at("simd"));
    pattern_.reset();
    replay_ = std::make_unique<Replay>(*trace_, options, rank_, ranks_);
    replay_->prepare(message.at("steps"));
    pattern_ = make_pattern(message.at("pattern"), MPI_COMM_WORLD, replay_->message_capacity());
    contributions_ = std::make_unique<SharedContributions>(scratch_, rank_, ranks_,
                                                           replay_->contribution_size());
    socket_.send({{"type", "prepared"}});
  }

  void step(const json& message) {
    const TransportCounters before = pattern_->counters();
    const StepReport report = replay_->step(message.at("index"), *pattern_);
    const TransportCounters after = pattern_->counters();
    socket_.send({{"type", "stepped"},
                  {"compute", report.compute},
                  {"late", report.late},
                  {"compress", report.compress},
                  {"compress_cpu", report.compress_cpu},
                  {"exchange", report.exchange},
                  {"decode", report.decode},
                  {"total", report.total},
                  {"payload_bytes", report.payload_bytes},
                  {"target", report.target},
                  {"selected", report.selected},
                  {"exchanged", report.exchanged},
                  {"sent_messages", after.messages - before.messages},
                  {"sent_bytes", after.bytes - before.bytes},
                  {"sent_frames", after.frames - before.frames}});
  }

  void account(const json& message) {
    if (message.at("check")) replay_->own_contribution(contributions_->own());
    socket_.send(
        {{"type", "accounted"}, {"relative_error", replay_->relative_error(message.at("index"))}});
  }

  void compare() {
    socket_.send({{"type", "compared"},
                  {"error", contributions_->error_of(replay_->results())},
                  {"digest", digest(replay_->aggregate())}});
  }

  MessageSocket socket_;
  std::string scratch_;
  int rank_ = 0, ranks_ = 1;
  std::unique_ptr<Trace> trace_;
  std::unique_ptr<Replay> replay_;
  std::unique_ptr<Pattern> pattern_;
  std::unique_ptr<SharedContributions> contributions_;
};

}  // namespace
}  // namespace thinpipe

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: thinpipe-worker CONTROL-SOCKET SCRATCH (started by thinpipe run)\n");
    return thinpipe::kExitUsage;
  }
  // Waits end when they should, not up to 50 us later.
  prctl(PR_SET_TIMERSLACK, 1UL);
  // Compressors may run several threads; this one alone exchanges.
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int result = thinpipe::kExitGood;
  try {
    thinpipe::Worker worker(thinpipe::MessageSocket::connect_to(argv[1]), argv[2]);
    worker.serve();
  } catch (const std::exception& error) {
    fmt::print(stderr, "thinpipe-worker: {}\n", error.what());
    result = thinpipe::kExitFailed;
  }
  if (result != thinpipe::kExitGood) MPI_Abort(MPI_COMM_WORLD, result);
  MPI_Finalize();
  return result;
}
