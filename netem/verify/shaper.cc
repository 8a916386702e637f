#include "netem/verify/shaper.h"

#include <sys/socket.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/statistics.h"
#include "base/units.h"
#include "netem/sandbox.h"
#include "netem/schedule/throttle.h"
#include "netem/verify/expected.h"
#include "netem/verify/sockets.h"

namespace thinpipe {
namespace {

constexpr double kTrainFrameSeconds = 0.01;  // longest transmission time of a train's frame
constexpr double kTrainBatchSeconds = 1e-4;  // transmission time of a batch on a fast link
constexpr int kBatchesBehind = 24;           // batches of the train that find the bucket empty
constexpr int kMinBehind = 4;                // least number of these that must fit into the queue
constexpr int kSocketDatagrams = 64;         // datagrams that a socket's default buffers take
constexpr double kMinBatches = 16;           // least number of batches that fill a bucket
constexpr double kSpareIdle = 1.5;           // idle time over the bucket's time to fill
constexpr double kSupply = 0.7;    // longest time to send a train, over its transmission time
constexpr double kMaxTrain = 8e6;  // bytes: limit of netdev backlogs and sockets

struct Train {
  int datagram = 0;  ///< bytes of payload
  int at_once = 1;   ///< datagrams per batch
  int batches = 0;
  double frame = 0;    ///< bytes that the link charges for a datagram
  double seconds = 0;  ///< transmission time at the link's rate
  double idle = 0;     ///< s of idling before the train
};

Direction slower(const LinkSpec& link) {
  if (link.up.rate == 0) return link.down;
  return link.down.rate == 0 || link.up.rate <= link.down.rate ? link.up : link.down;
}

// Returns a train of datagrams with more bytes than the link's token bucket. Sets `why` to the
// reason if no train can show the bucket's depth.
Train train_for(const LinkSpec& link, std::string& why) {
  const Direction direction = slower(link);
  const double bytes_per_second = direction.rate / 8;
  Train train;
  const int full = static_cast<int>(link.mtu) + kEthernetHeader - kDatagramHeaders;
  train.datagram = std::clamp(
      static_cast<int>(bytes_per_second * kTrainFrameSeconds) - kDatagramHeaders, 64, full);
  const double counted = train.datagram + kDatagramHeaders;
  train.frame = counted + direction.overhead;
  const double bucket = bucket_depth(link, train.frame);
  if (!link.needs_single_frames())
    train.at_once = static_cast<int>(std::clamp(
        std::min(bytes_per_second * kTrainBatchSeconds, bucket / kMinBatches) / train.frame, 1.0,
        65000.0 / counted));
  const double batch = train.at_once * train.frame;
  // A queue counts frames without overhead. 0.7 leaves a reserve.
  const double queue = 0.7 * direction.queue * train.frame / counted;
  const double behind = std::min(bucket + kBatchesBehind * batch, queue);
  if (behind < kMinBehind * batch)
    why = fmt::format("a queue of {} is too short for a train", format_bytes(direction.queue));
  if (bucket + behind > kMaxTrain)
    why = fmt::format("a bucket of {} is deeper than the longest train", format_bytes(bucket));
  train.batches = static_cast<int>((bucket + behind) / batch);
  train.seconds = train.batches * batch / bytes_per_second;
  train.idle = kSpareIdle * bucket / bytes_per_second;
  return train;
}

class Trains {
 public:
  Trains(const Network& network, const LinkSpec& link, const Flow& flow, const Train& train)
      : link_(link), train_(train) {
    const int sockets = train.batches * train.at_once / kSocketDatagrams + 1;
    for (int i = 0; i < sockets; ++i) pairs_.push_back(datagram_pair(network, flow, 1));
    for (const SocketPair& pair : pairs_) {
      senders_.emplace_back(pair.sender, train.datagram, train.at_once);
      receivers_.emplace_back(pair.receiver, train.datagram);
    }
  }

  // Sends one train of datagrams. Returns by how many bytes the arrivals exceed rate times time,
  // which shows the bucket's depth. Sets `supplied` to false if the train was sent too slowly to
  // show the depth.
  double send(bool& supplied) {
    const double begin = wall_clock();
    for (int i = 0; i < train_.batches; ++i) {
      NumberedSender& sender = senders_[static_cast<std::size_t>(i) % senders_.size()];
      sender.count_from(0);
      sender.send_batch(false);
    }
    supplied = wall_clock() - begin < kSupply * train_.seconds;
    wait_until(now_seconds() + train_.seconds + link_.delay() + kSlack);
    std::vector<NumberedArrival> arrivals;
    for (NumberedReceiver& receiver : receivers_) receiver.take(arrivals);
    return depth_from(arrivals);
  }

 private:
  static constexpr double kSlack = 5e-3;  // s until the last datagrams have arrived

  // If the bucket is full at t = 0, the n-th byte leaves when depth + rate * t = n. So the bytes
  // that have arrived, minus rate times time, never exceed the depth. They equal the depth whenever
  // the link is busy.
  double depth_from(std::vector<NumberedArrival>& arrivals) const {
    if (arrivals.empty()) return 0;
    std::sort(arrivals.begin(), arrivals.end(),
              [](const auto& a, const auto& b) { return a.time < b.time; });
    double most = 0, arrived = 0;
    for (const NumberedArrival& one : arrivals) {
      arrived += train_.frame;
      most = std::max(most, arrived - link_.rate() / 8 * (one.time - arrivals.front().time));
    }
    return most;
  }

  const LinkSpec& link_;
  const Train& train_;
  std::vector<SocketPair> pairs_;
  std::vector<NumberedSender> senders_;
  std::vector<NumberedReceiver> receivers_;
};

}  // namespace

BurstFigures measure_bucket_depth(const Network& network, const LinkSpec& link, const Flow& flow) {
  constexpr int kMaxTrains = 5;      // the median counts
  constexpr double kMaxSeconds = 3;  // for all trains; at least one is sent
  BurstFigures figures;
  const LinkSpec filled = link.with_defaults();
  const Train train = train_for(filled, figures.not_measured);
  if (!figures.not_measured.empty()) return figures;
  const double each = train.idle + train.seconds;
  if (each > kMaxSeconds)
    return {.not_measured = fmt::format("a train takes {} (limit {})", format_time(each),
                                        format_time(kMaxSeconds))};
  const int wanted = std::clamp(static_cast<int>(kMaxSeconds / each), 1, kMaxTrains);
  Trains trains(network, filled, flow, train);
  std::vector<double> depths;
  for (int tries = 0; tries < 3 * wanted && static_cast<int>(depths.size()) < wanted; ++tries) {
    if (stop_requested()) throw RunError("interrupted");
    wait_until(now_seconds() + train.idle);
    bool supplied = false;
    const double depth = trains.send(supplied);
    if (supplied) depths.push_back(depth);
  }
  if (depths.empty())
    return {.not_measured = "this machine cannot send datagrams faster than the link"};
  figures.depth = median(depths);
  figures.low = quantile(depths, 0);
  figures.high = quantile(depths, 1);
  figures.frame = train.frame;
  figures.expected = bucket_depth(filled, train.frame);
  return figures;
}

namespace {

constexpr double kFrameSeconds = 4e-4;   // transmission time of a datagram on slow links
constexpr double kBatchSeconds = 2e-4;   // transmission time of a GSO packet on fast links
constexpr double kFramesAPhase = 60;     // at half the rate; a third of them determines a line
constexpr double kSettled = 0.5;         // fraction of a phase until the new rate must be in effect
constexpr double kPaceTolerance = 0.15;  // relative, of the expected arrival rate
constexpr double kQueueShare = 0.25;     // fraction of the queue to use, so that nothing is dropped
constexpr double kSupplied = 0.05;       // least fraction of the time that the sender waits
constexpr double kDrain = 0.3;           // s for the last datagrams
constexpr double kPhase = 0.1;           // s between two changes, longer on slow links
constexpr double kMaxOfAllChanges = 4;   // s

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
      : sender_(socket, datagram, at_once),
        thread_([this](const std::stop_token& ending) { run(ending); }) {}
  SteadySender(const SteadySender&) = delete;  // the thread uses the object

  std::uint64_t stop() {
    thread_.request_stop();
    thread_.join();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return sender_.next();
  }

  // Returns the s in which the sender waited for the link. Call it after stop().
  double waited() const { return waited_; }

 private:
  void run(const std::stop_token& ending) {
    block_signals();
    try {
      while (!ending.stop_requested()) {
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
  double waited_ = 0;
  std::exception_ptr error_;
  std::jthread thread_;
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
                              int changes, const std::function<void(double rate)>& set_rate) {
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
  const double phase = std::max(kPhase, kFramesAPhase * at_once * frame * 8 / low);
  ChangeFigures figures;
  figures.changes = std::min(changes, static_cast<int>(kMaxOfAllChanges / phase) - 1);
  if (figures.changes < 1)
    return {.not_measured = fmt::format("the link is too slow: a frame takes {} at half its rate",
                                        format_time(frame * 8 / low))};

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
  std::vector<Change> made;
  const double begin = wall_clock();
  for (int i = 1; i <= figures.changes + 1; ++i) {
    while (wall_clock() < begin + i * phase) {
      if (stop_requested()) throw RunError("interrupted");
      receiver.wait(std::clamp(begin + i * phase - wall_clock(), 0.0, 0.02));
      receiver.take(arrivals);
    }
    if (i > figures.changes) break;
    const double before = i % 2 == 1 ? high : low, after = i % 2 == 1 ? low : high;
    made.push_back({wall_clock(), before / 8, after / 8});
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
  if (sender.waited() < kSupplied * (figures.changes + 1) * phase)
    return {.not_measured = "this machine cannot send datagrams as fast as the link"};

  std::vector<double> latencies;
  for (const Change& change : made)
    if (const auto latency = seen_after(arrivals, change, phase, frame))
      latencies.push_back(*latency);
  figures.unseen = figures.changes - static_cast<int>(latencies.size());
  if (!latencies.empty()) {
    figures.median = median(latencies);
    figures.most = quantile(latencies, 1);
  }
  return figures;
}

ChangeFigures measure_change_latency(const Network& network, const LinkSpec& link,
                                     const Flow& flow) {
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
  return measure_changes(network, link, flow, kRateChanges, [&](double rate) {
    for (ScheduleQdisc* one : {up.get(), down.get()}) one->set_rate(rate);
    for (ScheduleQdisc* one : {up.get(), down.get()}) one->check();
  });
}

}  // namespace thinpipe
