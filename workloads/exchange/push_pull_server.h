// A parameter server's side: takes every worker's payloads, has them aggregated in the thread of
// its exchange or beside it, and answers each unit with one payload for all.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "workloads/exchange/exchange_units.h"
#include "workloads/exchange/transport.h"
#include "workloads/exchange/unit_stream.h"

namespace thinpipe {

/// Turns workers' payloads into answers.
class UnitAggregator {
 public:
  virtual ~UnitAggregator() = default;
  /// One worker's payload of a unit. Whatever the order in which they come over the network, the
  /// workers of a unit are handed over in theirs, 0 first: sums have the same bits in every run.
  /// @throws PayloadError for a malformed one.
  virtual void add(std::size_t unit, int worker, std::span<const std::byte> payload) = 0;
  /// After the last worker's: what all of them get. Untouched until the unit's next add().
  virtual std::span<const std::byte> answer(std::size_t unit) = 0;
};

/// How an answer came about, in s of the monotonic clock: the codec was at work without a pause
/// from when a payload arrived to when the answer was ready, whatever units it worked on. Nothing
/// that came earlier or later made that moment another one.
struct ServedUnit {
  int last = 0;         ///< the worker whose payload that was
  double arrived = 0;   ///< when it did
  double averaged = 0;  ///< `answered` less what was spent on compressing since then
  double answered = 0;
};

/// A unit that has been averaged and compressed.
struct UnitAnswer {
  std::uint32_t unit = 0;
  std::span<const std::byte> payload;
  ServedUnit served;
};

/// Hands payloads to an aggregator in the order in which they come in here. Where it is large the
/// work is done by a thread of its own, so that messages move meanwhile; small payloads cost less
/// than telling another thread of them.
class UnitCodec {
 public:
  /// @param units  for their names; must outlive this
  /// @param most  payloads, and answers, of one step
  UnitCodec(const std::vector<ExchangeUnit>& units, bool beside, std::size_t most);
  ~UnitCodec();
  UnitCodec(const UnitCodec&) = delete;
  UnitCodec& operator=(const UnitCodec&) = delete;

  /// Begins a step: all that was added is answered. The aggregator is used until the next one.
  void begin(UnitAggregator& aggregator);

  /// @param last  all others of the unit were added: it is answered after this one
  /// @param from  the worker whose payload has just arrived; this one's may have waited for it
  void add(std::uint32_t unit, int worker, std::span<const std::byte> payload, bool last, int from);

  /// After an error: drops what was not begun, and returns when the aggregator is used no more.
  void drop();

  /// The next answer, if one is ready.
  /// @throws PayloadError naming rank and unit where the aggregator refused a payload
  bool take(UnitAnswer& answer);

 private:
  struct Job {
    std::uint32_t unit;
    int worker;
    std::span<const std::byte> payload;
    bool last;
  };

  /// From when there was something to do to when there was nothing left.
  struct Stretch {
    int from = 0;
    double begin = 0, compressing = 0;
  };

  void work();
  bool carry_out(const Job& job, UnitAnswer& answer, Stretch& stretch);

  const std::vector<ExchangeUnit>& units_;
  UnitAggregator* aggregator_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Job> jobs_;            ///< of the step
  std::vector<UnitAnswer> answers_;  ///< likewise
  std::size_t begun_ = 0, ended_ = 0, taken_ = 0;
  Stretch stretch_;
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread thread_;  ///< where the work is done beside
};

/// Barriers are fine-grained (3LC, section 2.1): a unit is answered as soon as all workers'
/// payloads of it are in, while others are still coming.
class PushPullServer final : private UnitSink {
 public:
  /// Buffers are made once. The transport, of rank layout.rank_of_server(server), must outlive
  /// this. @param first_slot  from which on it uses the transport's
  PushPullServer(Transport& transport, PushPullLayout layout, int server, int first_slot = 0);

  /// Its units, as the layout counts them.
  const std::vector<std::size_t>& units() const { return own_; }

  /// Serves once each of these units, which are its own; without any it returns at once.
  /// @throws PayloadError naming rank and unit for a payload that no worker may send now, or that
  /// the aggregator refuses.
  void step(UnitAggregator& aggregator, std::span<const std::size_t> units);

  // The same in parts, for a rank that does something else meanwhile: begin(), await() as often as
  // there are units, advance() until idle(). All workers push the units of a server in the order of
  // await().
  /// Nothing is awaited. The aggregator is used until the next begin().
  void begin(UnitAggregator& aggregator);
  void await(std::span<const std::size_t> units);
  /// Where servers are workers too: this rank's own payload of a unit that is awaited, which stays
  /// where it is until the unit is answered.
  void take_own(std::size_t unit, std::span<const std::byte> payload);
  /// Takes what has arrived and sends what there is room for. @returns whether anything moved
  /// @throws PayloadError as step()
  bool advance();
  /// Where ranks are both: a limit for all that it sends together, and the bytes that have come to
  /// it.
  void share(SendBudget* budget) { streams_.share(budget); }
  std::size_t received() const { return streams_.received(); }
  /// All that was awaited is answered, and all answers have left.
  bool idle() const;
  /// All that was awaited is answered.
  bool answered() const { return unanswered_ == 0; }
  /// Called with every answer as soon as it is made, for a worker of the same rank.
  std::function<void(std::size_t unit, std::span<const std::byte> answer)> on_answer;

  /// How the answer to a unit of the last step came about.
  const ServedUnit& served(std::size_t unit) const { return units_[unit].served; }

 private:
  /// A unit in the step under way.
  struct Unit {
    bool awaited = false;
    int added = 0;  ///< workers handed over
    int here = 0;   ///< workers whose payload has arrived
    ServedUnit served;
    std::vector<std::span<std::byte>> places;          ///< by worker
    std::vector<char> begun;                           ///< by worker
    std::vector<std::span<const std::byte>> payloads;  ///< by worker, once `arrived`
    std::vector<char> arrived;
  };

  std::span<std::byte> begin_unit(int peer, std::uint32_t unit, std::uint32_t length) override;
  void end_unit(int peer, std::uint32_t unit, std::span<const std::byte> payload) override;

  void take_answers();

  Transport& transport_;
  PushPullLayout layout_;
  std::unique_ptr<std::byte[]> arena_;  ///< never more of it in memory than is received
  std::vector<Unit> units_;
  std::vector<std::size_t> own_;
  int own_worker_;                  ///< of this rank; -1: there is none
  std::size_t unanswered_ = 0;      ///< units
  UnitStreams streams_;             ///< by worker
  std::optional<UnitCodec> codec_;  ///< ends before what it works on
};

}  // namespace thinpipe
