#include "harness/worker/worker.h"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "compressors/cuda/gpu.h"
#include "compressors/plugin/loader.h"
#include "compressors/simd.h"
#include "harness/launch/control_socket.h"
#include "harness/machine/fingerprint.h"
#include "harness/machine/gpu.h"
#include "harness/machine/machine.h"
#include "harness/worker/bucketing_json.h"
#include "harness/worker/replay_role.h"
#include "harness/worker/server_role.h"
#include "harness/worker/sockets.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/mpi_collectives.h"
#include "workloads/collectives/mpi_device.h"
#include "workloads/collectives/ring_probe.h"
#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// Most training clusters run cubic, and it keeps a steady rate; bbr, the default of some kernels,
// drains its window every 10 s to measure round trips.
constexpr const char* kCongestionControl = "cubic";

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
  if (what == "stream") return stream(message);
  if (what == "probe") return probe(message);
  return role_ ? role_->answer(message) : json();
}

/// Opens this rank's GPU; ranks that share a machine take its GPUs round-robin.
RankDevice Worker::open_device() const {
  const char* const local = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");  // on a machine of its own
  return open_rank_gpu(!alone() ? rank_ : local == nullptr ? 0 : std::atoi(local));
}

json Worker::describe_device() const {
  if (!needs_device_) return {{"type", "device"}};
  const DeviceDescription found = open_device().description;
  return {{"type", "device"},
          {"bus", found.bus},
          {"device", device_json({found, std::nullopt})},
          {"mpi_takes_addresses", mpi_takes_device_addresses()}};
}

json Worker::prepare(const json& message) {
  role_.reset();
  for (const std::string plugin : message.at("plugins")) load_plugin(plugin);
  set_simd_target(message.at("simd"));
  const RoleSettings settings = settings_of(message);
  needs_device_ = settings.is_worker();
  role_ = make_role(settings, message);
  json said = role_->prepared();
  said["type"] = "prepared";
  said["trace"] = trace().identity();
  return said;
}

RoleSettings Worker::settings_of(const json& message) const {
  RoleSettings settings;
  ReplayOptions& options = settings.options;
  options.compressor = CompressorRules::parse(message.at("compressor").get<std::string>());
  options.bucketing = bucketing_of(message);
  options.seed = message.at("seed");
  options.compute_scale = message.at("compute_scale");
  options.compute_works = message.at("compute_works");
  options.stragglers = Stragglers::parse(message.value("stragglers", "none"));
  options.epochs_a_step = message.value("epochs_a_step", 0.0);
  options.time_scale = message.value("time_scale", 1.0);
  options.non_finite = message.at("non_finite") == "zero" ? NonFinite::kZero : NonFinite::kError;
  options.threads = message.at("threads");
  settings.collective = parse_spec(message.at("collective").get<std::string>());
  settings.rank = rank_;
  settings.workers = ranks_ - servers_of(settings.collective);
  settings.steps = message.at("steps");
  settings.scratch = scratch_;
  const CollectiveInfo& collective = find_collective(settings.collective.name);
  options.sparse_sums = collective.can(Exchange::kSparseAllReduce);
  if (collective.can(Exchange::kPushPull))
    options.servers = push_pull_options(settings.collective, settings.workers);
  // Servers have no gradients, so they need no device.
  if (settings.is_worker() && message.value("device", kDeviceCpu) != kDeviceCpu)
    options.device = open_device();
  return settings;
}

std::unique_ptr<Role> Worker::make_role(const RoleSettings& settings, const json& message) {
  const std::string folder = message.at("trace");
  if (!trace_ || trace_->folder() != folder) {
    trace_.reset();  // two traces may not fit into memory
    trace_ = std::make_unique<Trace>(open_gradients(folder));
  }
  if (settings.is_worker()) return std::make_unique<ReplayRole>(*trace_, settings);
  return std::make_unique<ServerRole>(*trace_, settings);
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
  // Without this, timers end up to 50 us late.
  prctl(PR_SET_TIMERSLACK, 1UL);
  // With overlap, a separate thread carries out exchanges. Two threads never call MPI at the same
  // time, so MPI_THREAD_SERIALIZED suffices.
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  if (provided < MPI_THREAD_SERIALIZED) {
    fmt::print(stderr, "{}: this MPI library does not support MPI_THREAD_SERIALIZED\n", name);
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
