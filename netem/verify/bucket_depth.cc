#include "netem/verify/bucket_depth.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/statistics.h"
#include "base/units.h"
#include "netem/sandbox.h"
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
    std::this_thread::sleep_for(
        std::chrono::duration<double>(train_.seconds + link_.delay() + kSlack));
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

BurstFigures measure_bucket_depth(const Network& network, const LinkSpec& link, const Flow& flow,
                                  const BurstOptions& options) {
  BurstFigures figures;
  const LinkSpec filled = link.with_defaults();
  const Train train = train_for(filled, figures.not_measured);
  if (!figures.not_measured.empty()) return figures;
  const double each = train.idle + train.seconds;
  if (each > options.most_seconds) {
    figures.not_measured = fmt::format("a train takes {} (limit {})", format_time(each),
                                       format_time(options.most_seconds));
    return figures;
  }
  const int wanted = std::clamp(static_cast<int>(options.most_seconds / each), 1, options.trains);
  Trains trains(network, filled, flow, train);
  std::vector<double> depths;
  for (int tries = 0; tries < 3 * wanted && static_cast<int>(depths.size()) < wanted; ++tries) {
    if (stop_requested()) throw RunError("interrupted");
    std::this_thread::sleep_for(std::chrono::duration<double>(train.idle));
    bool supplied = false;
    const double depth = trains.send(supplied);
    if (supplied) depths.push_back(depth);
  }
  if (depths.empty()) {
    figures.not_measured = "this machine cannot send datagrams faster than the link";
    return figures;
  }
  figures.depth = median(depths);
  figures.low = quantile(depths, 0);
  figures.high = quantile(depths, 1);
  figures.frame = train.frame;
  figures.expected = bucket_depth(filled, train.frame);
  return figures;
}

}  // namespace thinpipe
