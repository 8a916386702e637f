#include "netem/verify/change_latency.h"

#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/statistics.h"
#include "base/units.h"
#include "netem/sandbox.h"
#include "netem/schedule/throttle.h"
#include "netem/verify/expected.h"
#include "netem/verify/sockets.h"

namespace thinpipe {

namespace {

constexpr double kFrameSeconds = 4e-4;   // transmission time of a datagram on slow links
constexpr double kBatchSeconds = 2e-4;   // transmission time of a GSO packet on fast links
constexpr double kFramesAPhase = 60;     // at half the rate; a third of them determines a line
constexpr double kSettled = 0.5;         // fraction of a phase until the new rate must be in effect
constexpr double kPaceTolerance = 0.15;  // relative, of the expected arrival rate
constexpr double kQueueShare = 0.25;     // fraction of the queue to use, so that nothing is dropped
constexpr double kSupplied = 0.05;       // least fraction of the time that the sender waits
constexpr double kDrain = 0.3;           // s for the last datagrams

// bytes = offset + pace * time, by least squares. Times are relative to a nearby origin.
struct Line {
  double offset = 0, pace = 0;
};

std::optional<Line> line_through(const std::vector<NumberedArrival>& arrivals, double frame,
                                 double origin, double from, double to) {
  double n = 0, t = 0, y = 0, tt = 0, ty = 0;
  for (const NumberedArrival& one : arrivals) {
    const double time = one.time - origin;
    if (time < from || time > to) continue;
    const double bytes =
        static_cast<double>(one.number + 1) * frame;  // includes drops of a full socket
    n += 1, t += time, y += bytes, tt += time * time, ty += time * bytes;
  }
  const double spread = n * tt - t * t;
  if (n < 4 || spread <= 0) return std::nullopt;
  const double pace = (n * ty - t * y) / spread;
  return Line{(y - pace * t) / n, pace};
}

// Sends from its own thread, with little in flight, until destroyed.
class SteadySender {
 public:
  SteadySender(const FileDescriptor& socket, int datagram, int at_once)
      : sender_(socket, datagram, at_once), thread_([this] { run(); }) {}
  ~SteadySender() { stop(); }
  SteadySender(const SteadySender&) = delete;
  SteadySender& operator=(const SteadySender&) = delete;

  // Stops and returns the number of datagrams sent.
  std::uint64_t stop() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return sender_.next();
  }

  // Returns the s in which the sender waited for the link. Call it after stop().
  double waited() const { return waited_; }

 private:
  void run() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are the main thread's
    try {
      while (!done_) {
        if (sender_.send_batch(false)) continue;
        const double begin = wall_clock();
        sender_.send_batch(true);
        waited_ += wall_clock() - begin;
      }
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  NumberedSender sender_;
  std::atomic<bool> done_{false};
  double waited_ = 0;
  std::exception_ptr error_;
  std::thread thread_;
};

struct Change {
  double time = 0, rate_before = 0, rate = 0;  // bytes/s
};

// Returns the latency of a rate change: when the line through the arrivals before the change meets
// the line through those after it. Returns nothing if the arrivals do not have the expected rates.
std::optional<double> seen_after(const std::vector<NumberedArrival>& arrivals, const Change& change,
                                 double phase, double frame) {
  const auto before = line_through(arrivals, frame, change.time, -(1 - kSettled) * phase, 0);
  const auto after = line_through(arrivals, frame, change.time, kSettled * phase, phase);
  if (!before || !after) return std::nullopt;
  if (std::fabs(before->pace / change.rate_before - 1) > kPaceTolerance ||
      std::fabs(after->pace / change.rate - 1) > kPaceTolerance)
    return std::nullopt;
  return (before->offset - after->offset) / (after->pace - before->pace);
}

}  // namespace

ChangeFigures measure_changes(const Network& network, const LinkSpec& link, const Flow& flow,
                              const ChangeOptions& options,
                              const std::function<void(double rate)>& set_rate) {
  const LinkSpec filled = link.with_defaults();
  const double high = filled.rate(), low = high / 2;
  const int full = static_cast<int>(link.mtu) + kEthernetHeader - kDatagramHeaders;
  const int datagram =
      std::clamp(static_cast<int>(high / 8 * kFrameSeconds) - kDatagramHeaders, 64, full);
  const double frame = datagram + kDatagramHeaders + std::max(link.up.overhead, link.down.overhead);
  const int at_once =
      link.needs_single_frames()
          ? 1
          : static_cast<int>(std::clamp(high / 8 * kBatchSeconds / frame, 1.0, 16.0));
  const double phase = std::max(options.phase, kFramesAPhase * at_once * frame * 8 / low);
  ChangeFigures figures;
  figures.changes = std::min(options.changes, static_cast<int>(options.most_seconds / phase) - 1);
  if (figures.changes < 1) {
    figures.not_measured = fmt::format("the link is too slow: a frame takes {} at half its rate",
                                       format_time(frame * 8 / low));
    return figures;
  }

  const SocketPair pair = datagram_pair(network, flow, 1);
  const int waiting = static_cast<int>(
      kQueueShare * std::min(filled.up.queue > 0 ? filled.up.queue : filled.down.queue,
                             filled.down.queue > 0 ? filled.down.queue : filled.up.queue));
  setsockopt(pair.sender.get(), SOL_SOCKET, SO_SNDBUF, &waiting, sizeof(waiting));
  NumberedReceiver receiver(pair.receiver, datagram);
  const std::uint64_t drops_before = receive_buffer_drops(network, flow.to);
  set_rate(high);
  SteadySender sender(pair.sender, datagram, at_once);
  std::vector<NumberedArrival> arrivals;
  std::vector<Change> changes;
  const double begin = wall_clock();
  for (int i = 1; i <= figures.changes + 1; ++i) {
    while (wall_clock() < begin + i * phase) {
      if (stop_requested()) throw RunError("interrupted");
      receiver.wait(std::clamp(begin + i * phase - wall_clock(), 0.0, 0.02));
      receiver.take(arrivals);
    }
    if (i > figures.changes) break;
    const double before = i % 2 == 1 ? high : low, after = i % 2 == 1 ? low : high;
    changes.push_back({wall_clock(), before / 8, after / 8});
    set_rate(after);
  }
  figures.sent = sender.stop();
  for (const double end = wall_clock() + kDrain + waiting * 16 / low;
       arrivals.size() < figures.sent && wall_clock() < end;) {
    receiver.wait(0.02);
    receiver.take(arrivals);
  }
  // The kernel counts GSO packets, each of `at_once` datagrams.
  const std::uint64_t packets = receive_buffer_drops(network, flow.to) - drops_before;
  const std::uint64_t came = arrivals.size() + packets * static_cast<std::uint64_t>(at_once);
  figures.lost = figures.sent > came ? figures.sent - came : 0;
  if (sender.waited() < kSupplied * (figures.changes + 1) * phase) {
    figures.not_measured = "this machine cannot send datagrams as fast as the link";
    return figures;
  }

  std::vector<double> latencies;
  for (const Change& change : changes) {
    const auto latency = seen_after(arrivals, change, phase, frame);
    if (latency) latencies.push_back(*latency);
  }
  figures.unseen = figures.changes - static_cast<int>(latencies.size());
  if (!latencies.empty()) {
    figures.median = median(latencies);
    figures.most = quantile(latencies, 1);
  }
  return figures;
}

ChangeFigures measure_change_latency(const Network& network, const LinkSpec& link, const Flow& flow,
                                     const ChangeOptions& options) {
  const LinkSpec filled = link.with_defaults();
  const auto throttle = [&](const Direction& direction, const std::string& interface) {
    return std::make_unique<ScheduleQdisc>(
        interface, ScheduleQdiscSettings{.highest_rate = filled.rate(),
                                         .burst = direction.burst,
                                         .queue = std::max(filled.up.queue, filled.down.queue),
                                         .overhead = direction.overhead,
                                         .frame_bytes = static_cast<int>(link.frame_bytes())});
  };
  std::unique_ptr<ScheduleQdisc> up, down;
  network.host(flow.from).inside([&] { up = throttle(link.up, "thin0"); });
  network.switch_at(0).inside([&] { down = throttle(link.down, fmt::format("data{}", flow.to)); });
  return measure_changes(network, link, flow, options, [&](double rate) {
    up->set_rate(rate);
    down->set_rate(rate);
    up->check();
    down->check();
  });
}

}  // namespace thinpipe
