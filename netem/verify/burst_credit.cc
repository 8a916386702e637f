#include "netem/verify/burst_credit.h"

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

constexpr double kTrainFrameSeconds = 0.01;  // a frame of the train takes no longer
constexpr double kTrainPieceSeconds = 1e-4;  // nor, where links are fast, much less than a piece
constexpr int kPiecesBehind = 24;            // pieces of the train that find the bucket empty
constexpr int kFewestBehind = 4;             // that must fit into the queue
constexpr int kSocketDatagrams = 64;         // what a socket's buffers hold by default
constexpr double kLeastPieces = 16;          // a bucket is filled by so many
constexpr double kSpareIdle = 1.5;           // times what the bucket takes to fill
constexpr double kSupply = 0.7;     // of the time the link needs, in which all must be sent
constexpr double kMostTrain = 8e6;  // bytes: what netdev backlogs and sockets can hold

struct Train {
  int datagram = 0;  ///< bytes of payload
  int at_once = 1;   ///< datagrams of a piece
  int pieces = 0;
  double frame = 0;    ///< bytes that the link charges for a datagram
  double seconds = 0;  ///< that it takes to cross when nothing was saved up
  double idle = 0;     ///< s before it
};

Direction slower(const LinkSpec& link) {
  if (link.up.rate == 0) return link.down;
  return link.down.rate == 0 || link.up.rate <= link.down.rate ? link.up : link.down;
}

// `why` is set when there is no train that would show it.
Train train_for(const LinkSpec& link, std::string& why) {
  const Direction direction = slower(link);
  const double bytes_per_second = direction.rate / 8;
  Train train;
  const int full = static_cast<int>(link.mtu) + kEthernetHeader - kDatagramHeaders;
  train.datagram = std::clamp(
      static_cast<int>(bytes_per_second * kTrainFrameSeconds) - kDatagramHeaders, 64, full);
  const double counted = train.datagram + kDatagramHeaders;
  train.frame = counted + direction.overhead;
  const double bucket = burst_credit(link, train.frame);
  if (!link.needs_single_frames())
    train.at_once = static_cast<int>(std::clamp(
        std::min(bytes_per_second * kTrainPieceSeconds, bucket / kLeastPieces) / train.frame, 1.0,
        65000.0 / counted));
  const double piece = train.at_once * train.frame;
  // A queue counts frames without what the link charges beyond them.
  const double room = 0.7 * direction.queue * train.frame / counted;
  const double behind = std::min(bucket + kPiecesBehind * piece, room);
  if (behind < kFewestBehind * piece)
    why = fmt::format("a queue of {} holds no train", format_bytes(direction.queue));
  if (bucket + behind > kMostTrain)
    why = fmt::format("a bucket of {} is more than is sent at once", format_bytes(bucket));
  train.pieces = static_cast<int>((bucket + behind) / piece);
  train.seconds = train.pieces * piece / bytes_per_second;
  train.idle = kSpareIdle * bucket / bytes_per_second;
  return train;
}

class Trains {
 public:
  Trains(const Network& network, const LinkSpec& link, const Flow& flow, const Train& train)
      : link_(link), train_(train) {
    const int sockets = train.pieces * train.at_once / kSocketDatagrams + 1;
    for (int i = 0; i < sockets; ++i) pairs_.push_back(datagram_pair(network, flow, 1));
    for (const SocketPair& pair : pairs_) {
      senders_.emplace_back(pair.sender, train.datagram, train.at_once);
      receivers_.emplace_back(pair.receiver, train.datagram);
    }
  }

  // Bytes beyond rate times time of one train; `supplied` is false when it was not sent fast enough
  // to tell.
  double send(bool& supplied) {
    const double begin = wall_clock();
    for (int i = 0; i < train_.pieces; ++i) {
      NumberedSender& sender = senders_[static_cast<std::size_t>(i) % senders_.size()];
      sender.count_from(0);
      sender.send_piece(false);
    }
    supplied = wall_clock() - begin < kSupply * train_.seconds;
    std::this_thread::sleep_for(
        std::chrono::duration<double>(train_.seconds + link_.delay() + kSlack));
    std::vector<NumberedArrival> arrivals;
    for (NumberedReceiver& receiver : receivers_) receiver.take(arrivals);
    return credit(arrivals);
  }

 private:
  static constexpr double kSlack = 5e-3;  // s, for the last ones to arrive

  // In a bucket that is full, the n-th byte leaves when credit + rate * t = n: so what has arrived,
  // less rate times time, is at most the credit, and reaches it whenever the link is waited for.
  double credit(std::vector<NumberedArrival>& arrivals) const {
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

BurstFigures measure_burst_credit(const Network& network, const LinkSpec& link, const Flow& flow,
                                  const BurstOptions& options) {
  BurstFigures figures;
  const LinkSpec filled = link.with_defaults();
  const Train train = train_for(filled, figures.not_measured);
  if (!figures.not_measured.empty()) return figures;
  const double each = train.idle + train.seconds;
  if (each > options.most_seconds) {
    figures.not_measured = fmt::format("a train takes {}", format_time(each));
    return figures;
  }
  const int wanted = std::clamp(static_cast<int>(options.most_seconds / each), 1, options.trains);
  Trains trains(network, filled, flow, train);
  std::vector<double> credits;
  for (int tries = 0; tries < 3 * wanted && static_cast<int>(credits.size()) < wanted; ++tries) {
    if (stop_requested()) throw RunError("interrupted");
    std::this_thread::sleep_for(std::chrono::duration<double>(train.idle));
    bool supplied = false;
    const double credit = trains.send(supplied);
    if (supplied) credits.push_back(credit);
  }
  if (credits.empty()) {
    figures.not_measured = "this machine does not send datagrams faster than the link takes them";
    return figures;
  }
  figures.credit = median(credits);
  figures.low = quantile(credits, 0);
  figures.high = quantile(credits, 1);
  figures.frame = train.frame;
  figures.expected = burst_credit(filled, train.frame);
  return figures;
}

}  // namespace thinpipe
