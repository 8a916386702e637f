#include "harness/worker/worker.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <mpi.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "compressors/cuda/gpu.h"
#include "compressors/plugin/loader.h"
#include "compressors/simd.h"
#include "harness/machine/fingerprint.h"
#include "harness/machine/gpu.h"
#include "harness/machine/machine.h"
#include "harness/worker/bucketing_json.h"
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

constexpr std::uint32_t kDataNetwork = 198U << 24 | 18U << 16;
constexpr std::uint32_t kDataMask = 0xffff0000U;

bool on_data_network(int descriptor) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  return getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
         address.sin_family == AF_INET &&
         (ntohl(address.sin_addr.s_addr) & kDataMask) == kDataNetwork;
}

// Returns whether a socket connects to another machine, by IPv4 or IPv6.
bool goes_out(int descriptor) {
  sockaddr_storage peer = {};
  socklen_t size = sizeof(peer);
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return false;
  if (peer.ss_family == AF_INET)
    return ntohl(reinterpret_cast<sockaddr_in&>(peer).sin_addr.s_addr) >> 24 != 127;
  return peer.ss_family == AF_INET6 &&
         !IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<sockaddr_in6&>(peer).sin6_addr);
}

// Calls `use` for each descriptor of this process for which `wanted` is true.
template <typename Wanted, typename Use>
void for_descriptors(Wanted wanted, Use use) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    if (wanted(descriptor)) use(descriptor);
  }
}

// Calls `prepare` for each socket for which `wanted` is true. Returns the names of these sockets'
// congestion controls after that.
template <typename Wanted, typename Prepare>
std::string names_in_force(Wanted wanted, Prepare prepare) {
  std::set<std::string> in_force;
  for_descriptors(wanted, [&](int descriptor) {
    prepare(descriptor);
    char now[16] = {};  // TCP_CA_NAME_MAX
    socklen_t size = sizeof(now) - 1;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, now, &size) == 0) in_force.insert(now);
  });
  std::string names;
  for (const std::string& one : in_force) names += (names.empty() ? "" : "+") + one;
  return names;
}

// Exchanges a byte with every other rank, so that Open MPI opens all its connections. Open MPI
// connects two ranks only at their first message.
void connect_all(MPI_Comm communicator) {
  int rank = 0, size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  char out = 0, in = 0;
  for (int distance = 1; distance < size; ++distance)
    MPI_Sendrecv(&out, 1, MPI_CHAR, (rank + distance) % size, 0, &in, 1, MPI_CHAR,
                 (rank + size - distance) % size, 0, communicator, MPI_STATUS_IGNORE);
  MPI_Barrier(communicator);
}

// Sets the congestion control of this process's TCP sockets on the data network (198.18.0.0/16).
// The namespace's default cannot be set without root on the whole machine, but a socket's can.
// Returns the names in force afterwards, joined by '+'; "" without sockets.
std::string set_congestion_control(const std::string& name) {
  return names_in_force(on_data_network, [&](int descriptor) {
    setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name.c_str(),
               static_cast<socklen_t>(name.size()));
  });
}

// Returns the congestion control in force on this process's TCP connections to other machines,
// except the descriptor `control`: names joined by '+'; "" without sockets. On real hosts, each
// host chooses its own congestion control.
std::string congestion_control_in_force(int control) {
  return names_in_force(
      [&](int descriptor) { return descriptor != control && goes_out(descriptor); }, [](int) {});
}

// Returns the smallest path MTU of the same connections, in bytes; 0 without one.
std::uint32_t path_mtu(int control) {
  std::uint32_t least = 0;
  for_descriptors(
      [&](int descriptor) { return descriptor != control && goes_out(descriptor); },
      [&](int descriptor) {
        tcp_info info = {};
        socklen_t size = sizeof(info);
        if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return;
        if (least == 0 || info.tcpi_pmtu < least) least = info.tcpi_pmtu;
      });
  return least;
}

// Waits until a message has arrived, and lets Open MPI work meanwhile. Open MPI sends only within
// its calls. A rank that has ended its step may still hold the end of a message, if the socket was
// full, and another rank waits for it. The pauses between calls double, so that idle ranks leave
// the CPU to others. The other rank thus waits at most twice as long, and at most kLongest longer.
void await_message(int descriptor, MPI_Comm communicator) {
  constexpr long kFirst = 50'000, kLongest = 8'000'000;  // ns
  pollfd waiting = {descriptor, POLLIN, 0};
  for (long pause = kFirst;; pause = std::min(2 * pause, kLongest)) {
    int arrived = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator, &arrived, MPI_STATUS_IGNORE);
    const timespec limit = {0, pause};
    if (ppoll(&waiting, 1, &limit, nullptr) > 0) return;
  }
}

}  // namespace

ControlWatch::ControlWatch(int connection) : wake_(eventfd(0, EFD_CLOEXEC)) {
  if (!wake_.valid()) throw SystemError("eventfd");
  thread_ = std::thread([connection, wake = wake_.get()] {
    pollfd waiting[] = {{connection, POLLRDHUP, 0}, {wake, POLLIN, 0}};
    while (poll(waiting, 2, -1) < 0 && errno == EINTR) {
    }
    if (waiting[1].revents == 0) _exit(kExitFailed);
  });
}

ControlWatch::~ControlWatch() {
  const std::uint64_t one = 1;
  if (write(wake_.get(), &one, sizeof(one)) == sizeof(one)) thread_.join();
}

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
    if (const std::uint32_t mtu = path_mtu(socket_.descriptor()); mtu > 0)
      hello["machine"]["mtu"] = mtu;
  } else {
    hello["congestion_control"] = set_congestion_control(kCongestionControl);
  }
  socket_.send(hello);
}

void Worker::serve() {
  bool failed = false;
  for (;;) {
    // After a step that failed, another thread may still be in a call of MPI, which allows one at a
    // time. The sweep ends this launch.
    if (!failed) await_message(socket_.descriptor(), MPI_COMM_WORLD);
    const auto message = socket_.receive();
    if (!message || message->at("do") == "quit") return;
    json said;
    try {
      said = answer(*message);
    } catch (const std::exception& error) {
      said = {{"type", "error"}, {"message", error.what()}};
      failed = failed || message->at("do") == "step";
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
