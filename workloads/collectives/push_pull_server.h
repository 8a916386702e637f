// A parameter server's side of an exchange: it receives every worker's payloads, aggregates them in
// the exchange's thread or in a thread of their own, and answers each unit with one payload for
// all.
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

#include "workloads/collectives/push_pull_options.h"
#include "workloads/collectives/transport.h"
#include "workloads/collectives/unit_stream.h"

namespace thinpipe {

/// Turns workers' payloads into answers.
class UnitAggregator {
 public:
  virtual ~UnitAggregator() = default;
  /// Adds one worker's payload of a unit. Payloads of a unit are added in the order of workers, 0
  /// first, in whatever order they arrive, so sums have the same bits in every run.
  /// @throws PayloadError for a malformed payload
  virtual void add(std::size_t unit, int worker, std::span<const std::byte> payload) = 0;
  /// Returns the answer for all workers, after the last worker's add(). Valid until the unit's next
  /// add().
  virtual std::span<const std::byte> answer(std::size_t unit) = 0;
};

/// Timing of an answer, in s of the monotonic clock. `last` and `arrived` describe the payload
/// whose arrival ended the codec's last idle time. From that arrival to the answer the codec worked
/// without a pause, on this unit or others. So that arrival alone decided when the answer was
/// ready.
struct ServedUnit {
  int last = 0;         ///< the worker of that payload
  double arrived = 0;   ///< when that payload arrived
  double averaged = 0;  ///< `answered` less the time of compressing since `arrived`
  double answered = 0;
};

/// A unit that has been averaged and compressed.
struct UnitAnswer {
  std::uint32_t unit = 0;
  std::span<const std::byte> payload;
  ServedUnit served;
};

/// Hands payloads to an aggregator in the order of add(). A server with large units aggregates in a
/// separate thread, so that messages move meanwhile. A server with small units only aggregates in
/// add(), since that work costs less than waking another thread.
class UnitCodec {
 public:
  /// @param units  for their names in errors; must outlive this
  /// @param beside  whether a separate thread does the work
  /// @param most  the greatest number of payloads, and of answers, of one step
  UnitCodec(const std::vector<ExchangeUnit>& units, bool beside, std::size_t most);
  ~UnitCodec();
  UnitCodec(const UnitCodec&) = delete;
  UnitCodec& operator=(const UnitCodec&) = delete;

  /// Begins a step, after all units of the previous step are answered. The aggregator is used until
  /// the next begin().
  void begin(UnitAggregator& aggregator);

  /// Adds a payload.
  /// @param last  whether all other payloads of the unit were added, so that the unit is answered
  /// after this payload
  /// @param from  the worker whose payload has just arrived; `payload` may be another worker's that
  /// waited for this arrival
  void add(std::uint32_t unit, int worker, std::span<const std::byte> payload, bool last, int from);

  /// Drops payloads that were not begun, after an error. Returns when the aggregator is not in use.
  void drop();

  /// Takes the next answer. @returns false if none is ready
  /// @throws PayloadError naming rank and unit where the aggregator refused a payload
  bool take(UnitAnswer& answer);

 private:
  struct Job {
    std::uint32_t unit;
    int worker;
    std::span<const std::byte> payload;
    bool last;
  };

  /// An interval of uninterrupted work.
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
  std::vector<UnitAnswer> answers_;  ///< of the step
  std::size_t begun_ = 0, ended_ = 0, taken_ = 0;
  Stretch stretch_;
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread thread_;  ///< with `beside`
};

/// The server. Barriers are fine-grained (3LC, section 2.1): a unit is answered as soon as all
/// workers' payloads of the unit have arrived, while other units still arrive.
class PushPullServer final : private UnitSink {
 public:
  /// Allocates all buffers. The transport, of rank layout.rank_of_server(server), must outlive
  /// this. @param first_slot  the first of the transport's slots that it uses
  PushPullServer(Transport& transport, PushPullLayout layout, int server, int first_slot = 0);

  /// Returns the server's units, as the layout counts them.
  const std::vector<std::size_t>& units() const { return own_; }

  /// Serves each of these units of the server once; without units it returns at once.
  /// @throws PayloadError naming rank and unit for a payload that no worker may send now, or that
  /// the aggregator refuses
  void step(UnitAggregator& aggregator, std::span<const std::size_t> units);

  // step() in several calls, for a rank that does other work meanwhile: begin(), await() units,
  // advance() until idle(). All workers push the units of a server in the order of await().
  /// Begins a step that awaits no unit yet. The aggregator is used until the next begin().
  void begin(UnitAggregator& aggregator) {
    codec_->begin(aggregator);
    unanswered_ = 0;  // of a step that ended with an error
    for (Unit& unit : units_) unit.awaited = false;
  }
  void await(std::span<const std::size_t> units);
  /// Takes this rank's own payload of an awaited unit, if servers are workers too. The caller must
  /// not change the payload until the unit is answered.
  void take_own(std::size_t unit, std::span<const std::byte> payload) {
    units_[unit].begun[static_cast<std::size_t>(own_worker_)] = true;
    end_unit(own_worker_, static_cast<std::uint32_t>(unit), payload);
  }
  /// Takes segments that have arrived and sends segments that fit the window. @returns whether any
  /// data moved @throws PayloadError as step()
  bool advance();
  // For ranks that are worker and server:
  /// Sets a limit for all bytes that the server sends.
  void share(SendBudget* budget) { streams_.share(budget); }
  /// Returns the bytes received so far.
  std::size_t received() const { return streams_.received(); }
  /// Returns whether all awaited units are answered and all answers have been sent.
  bool idle() const { return unanswered_ == 0 && streams_.idle(); }
  /// Returns whether all awaited units are answered.
  bool answered() const { return unanswered_ == 0; }
  /// Called with every answer as soon as it is ready, for a worker of the same rank.
  std::function<void(std::size_t unit, std::span<const std::byte> answer)> on_answer;

  /// Returns the timing of the answer to a unit of the last step.
  const ServedUnit& served(std::size_t unit) const { return units_[unit].served; }

 private:
  /// A unit in the current step.
  struct Unit {
    bool awaited = false;
    int added = 0;  ///< workers whose payload was added
    int here = 0;   ///< workers whose payload has arrived
    ServedUnit served;
    std::vector<std::span<std::byte>> places;          ///< receive buffers, by worker
    std::vector<char> begun;                           ///< by worker
    std::vector<std::span<const std::byte>> payloads;  ///< by worker, once `arrived`
    std::vector<char> arrived;
  };

  std::span<std::byte> begin_unit(int peer, std::uint32_t unit, std::uint32_t length) override;
  void end_unit(int peer, std::uint32_t unit, std::span<const std::byte> payload) override;

  void take_answers();

  Transport& transport_;
  PushPullLayout layout_;
  std::unique_ptr<std::byte[]> arena_;  ///< not initialised, so only received pages take memory
  std::vector<Unit> units_;
  std::vector<std::size_t> own_;
  int own_worker_;                  ///< the worker of this rank; -1: none
  std::size_t unanswered_ = 0;      ///< units
  UnitStreams streams_;             ///< by worker
  std::optional<UnitCodec> codec_;  ///< ends before the members that it uses
};

}  // namespace thinpipe
