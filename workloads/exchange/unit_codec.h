// What a parameter server makes of payloads, in the thread of its exchange or beside it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "workloads/exchange/exchange_units.h"

namespace thinpipe {

/// What a server makes of payloads.
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

}  // namespace thinpipe
