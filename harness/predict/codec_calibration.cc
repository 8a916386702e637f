#include "harness/predict/codec_calibration.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/statistics.h"
#include "workloads/collectives/collective.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/flows.h"
#include "workloads/collectives/push_pull_options.h"
#include "workloads/replay/plan.h"
#include "workloads/replay/push_pull_units.h"
#include "workloads/replay/replay.h"

namespace thinpipe {
namespace {

// Returns the typical value. For wall-clock times (`passed`) it is the first quartile, because
// other programs make them longer but never shorter. For CPU times it is the median.
double typical_pass(const std::vector<double>& values, bool passed) {
  if (values.empty()) return 0;
  return quantile(values, passed ? 0.25 : 0.5);
}

/// Measures the codec times and payload sizes of parameter servers. All servers run in this
/// process, one after the other. They answer the pushes of one step in the next step.
class EchoServers {
 public:
  /// @throws InputError as make_compressor
  /// @param epoch  of all steps
  EchoServers(const std::vector<ReplayUnit>& units, const PushPullOptions& options,
              std::size_t ranks, const CompressorSettings& settings, double epoch);

  /// Stores a payload. Different ranks may push at the same time.
  void push(std::size_t rank, std::size_t unit, std::span<const std::byte> payload);
  /// Returns the last answer, which is valid until answer_all().
  std::span<const std::byte> answer(std::size_t unit) const;
  /// Averages and compresses after all ranks have pushed. @param counts  in the profile
  void answer_all(std::uint64_t step, bool counts);

  /// Returns the profile by unit, of the steps that counted.
  std::vector<UnitWork> profile() const;

 private:
  struct Unit {
    std::unique_ptr<Compressor> push, pull;  // `pull` is null where `push` encodes the answers too
    std::vector<std::vector<std::byte>> payloads;
    std::vector<float> mean, estimate;  // `estimate` where the answers are changes of it
    std::vector<std::byte> place;
    std::size_t size = 0;
    double pushed = 0, pulled = 0;         // bytes in all steps that counted
    std::vector<double> decode, compress;  // s in each of these steps

    Compressor& answering() const { return pull ? *pull : *push; }
    void encode(std::uint64_t step, double epoch) {
      GradientInput input;
      input.values = estimate.empty() ? mean : estimate;
      input.step = step;
      input.epoch = epoch;
      size = answering().encode(input, place).encoded_bytes;
    }
  };
  std::vector<Unit> units_;
  double epoch_;
};

/// A collective of one rank that represents two, for measuring codecs: every payload comes back to
/// its sender. All-gathered payloads come back together with those of earlier steps: equal ones
/// would find their elements in the caches, and the ranks' do not.
class EchoCollective : public Collective,
                       public AllReduce,
                       public AllGather,
                       public SparseAllReduce,
                       public PushPull {
 public:
  static constexpr int kRanks = 2;
  // Messages that an all-gather returns. Two numbers show the part of decoding that does not depend
  // on the number of messages.
  static constexpr std::size_t kFew = 2, kMany = 6;
  // Longer messages are not kept: they do not fit into caches.
  static constexpr std::size_t kMaxKeptBytes = std::size_t{4} << 20;
  struct Made {
    Exchange exchange;
    double bytes;
    double k = 0;
  };

  /// @param servers  for push(), or null @param rank  of this worker at the servers
  EchoCollective(EchoServers* servers, std::size_t rank) : servers_(servers), rank_(rank) {}

  using AllReduce::all_reduce;
  void all_reduce(ElementType type, std::span<const std::byte> own, std::span<std::byte> result,
                  float factor) override;
  const std::vector<std::span<const std::byte>>& all_gather(
      std::span<const std::byte> own) override;
  SparseSum sparse_all_reduce(SparseView own, std::size_t k, std::size_t dimension,
                              float factor) override;
  /// Assumes the same number from every rank.
  std::size_t mean_count(std::size_t own, std::size_t) override { return own; }
  /// Does nothing, because no result is compared.
  void expected_sparse(std::span<const std::span<const float>>, std::size_t, float,
                       std::span<float>) const override {}
  std::size_t push(std::span<const UnitPayload> payloads) override;
  bool pull(std::size_t) override { return true; }
  void progress() override {}
  std::span<const std::byte> pulled(std::size_t unit) const override {
    return servers_->answer(unit);
  }
  TransportCounters counters() const override { return {}; }

  std::vector<Made> exchanges;  ///< since the last clear()
  double spent = 0;             ///< s in operations, likewise: a run has none of this work
  bool keeps = true;            ///< false where messages of earlier steps may lack units
  std::size_t gathered = kFew;  ///< messages of the next all-gather

 private:
  EchoServers* servers_;
  std::size_t rank_;
  std::vector<std::span<const std::byte>> messages_;
  std::vector<std::deque<std::vector<std::byte>>> kept_;  // by exchange of a step, the newest first
};

EchoServers::EchoServers(const std::vector<ReplayUnit>& units, const PushPullOptions& options,
                         std::size_t ranks, const CompressorSettings& settings, double epoch)
    : epoch_(epoch) {
  for (const ReplayUnit& one : units) {
    Unit& unit = units_.emplace_back();
    unit.push = make_compressor(one.compressor, one.tensor, settings);
    unit.pull = make_pull_compressor(one.tensor, one.compressor, options, settings);
    unit.payloads.resize(ranks);
    unit.mean.assign(one.tensor.elements, 0.0F);
    if (unit.push->incremental() && unit.answering().incremental())
      unit.estimate.assign(one.tensor.elements, 0.0F);
    unit.place.resize(unit.answering().max_encoded_size());
    unit.encode(0, epoch);  // an empty answer, for the first push
  }
}

void EchoServers::push(std::size_t rank, std::size_t unit, std::span<const std::byte> payload) {
  units_.at(unit).payloads.at(rank).assign(payload.begin(), payload.end());
}

std::span<const std::byte> EchoServers::answer(std::size_t unit) const {
  return std::span(units_.at(unit).place).first(units_[unit].size);
}

void EchoServers::answer_all(std::uint64_t step, bool counts) {
  for (Unit& unit : units_) {
    if (unit.payloads.front().empty()) continue;  // a step of gradient accumulation
    double pushed = 0;
    const double cleared = now_seconds();
    std::fill(unit.mean.begin(), unit.mean.end(), 0.0F);
    const double begin = now_seconds();
    const auto ranks = static_cast<double>(unit.payloads.size());
    for (const std::vector<std::byte>& payload : unit.payloads) {
      unit.push->decode_add(payload, static_cast<float>(1 / ranks), unit.mean);
      pushed += static_cast<double>(payload.size());
    }
    const double decoded = now_seconds();
    for (std::size_t i = 0; i < unit.estimate.size(); ++i) unit.estimate[i] += unit.mean[i];
    unit.encode(step, epoch_);
    const double encoded = now_seconds();
    for (std::vector<std::byte>& payload : unit.payloads) payload.clear();
    if (!counts) continue;
    unit.pushed += pushed / ranks;
    unit.pulled += static_cast<double>(unit.size);
    unit.decode.push_back((decoded - begin) / ranks);
    unit.compress.push_back(encoded - decoded + (begin - cleared));  // once for an answer
  }
}

std::vector<UnitWork> EchoServers::profile() const {
  std::vector<UnitWork> units;
  for (const Unit& unit : units_) {
    const double steps = std::max(1.0, static_cast<double>(unit.decode.size()));
    units.push_back({.elements = static_cast<double>(unit.mean.size()),
                     .push = unit.pushed / steps,
                     .pull = unit.pulled / steps,
                     .decode = typical_pass(unit.decode, true),
                     .compress = typical_pass(unit.compress, true)});
  }
  return units;
}

void EchoCollective::all_reduce(ElementType type, std::span<const std::byte> own,
                                std::span<std::byte> result, float factor) {
  const double begin = now_seconds();
  exchanges.push_back({Exchange::kAllReduce, static_cast<double>(own.size())});
  scale_elements(type, own, kRanks * factor, result);
  spent += now_seconds() - begin;
}

const std::vector<std::span<const std::byte>>& EchoCollective::all_gather(
    std::span<const std::byte> own) {
  const double begin = now_seconds();
  exchanges.push_back({Exchange::kAllGather, static_cast<double>(own.size())});
  messages_.assign(gathered, own);
  if (!keeps || own.size() > kMaxKeptBytes) return messages_;
  kept_.resize(std::max(kept_.size(), exchanges.size()));
  auto& kept = kept_[exchanges.size() - 1];
  kept.emplace_front(own.begin(), own.end());
  if (kept.size() > kMany) kept.pop_back();
  for (std::size_t i = 1; i < gathered; ++i) messages_[i] = kept[i % kept.size()];
  spent += now_seconds() - begin;
  return messages_;
}

// Returns this rank's own selection; nothing is restored to the residual.
SparseSum EchoCollective::sparse_all_reduce(SparseView own, std::size_t k, std::size_t, float) {
  exchanges.push_back({Exchange::kSparseAllReduce,
                       static_cast<double>(own.size() * sizeof(SparsePair)),
                       static_cast<double>(k)});
  return {own, {}};
}

std::size_t EchoCollective::push(std::span<const UnitPayload> payloads) {
  double bytes = 0;
  for (const UnitPayload& one : payloads) {
    servers_->push(rank_, one.unit, one.payload);
    bytes += static_cast<double>(one.payload.size());
  }
  exchanges.push_back({Exchange::kPushPull, bytes});
  return 0;
}

// In a run, cores do other work before the codec, so their caches hold other data. To measure under
// the same conditions, a core walks through this many bytes before each step and sleeps for a
// moment. The bytes are more than its caches store beside the codec's own data.
constexpr std::size_t kForeignBytes = std::size_t{16} << 20;
constexpr double kPause = 0.002;

// One rank's replay, with the report of its last step.
class Worker {
 public:
  Worker(const Trace& trace, const ReplayOptions& options, int rank)
      : rank_(static_cast<std::size_t>(rank)),
        replay_(trace, options, rank, EchoCollective::kRanks) {
    if (options.servers) return;
    replay_.connect([this](std::size_t) { return echo(nullptr); });
  }
  /// Connects the replay to parameter servers.
  void connect(EchoServers& servers) { replay_.connect(echo(&servers)); }

  Replay& replay() { return replay_; }

  /// @param gathered  messages that come back from an all-gather
  void step(std::uint64_t index, std::size_t gathered) {
    try {
      for (EchoCollective* collective : collectives_) {
        collective->exchanges.clear();
        collective->spent = 0;
        collective->gathered = gathered;
        collective->keeps = replay_.period() == 1;
      }
      for (std::size_t i = 0; i < foreign_.size(); i += 64) ++foreign_[i];
      std::this_thread::sleep_for(std::chrono::duration<double>(kPause));
      report_ = replay_.step(index);
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }
  const StepReport& report() const { return report_; }
  /// Returns s that the last step spent in the operations of a bucket's collective.
  double spent(std::size_t bucket) const { return served_ ? 0 : collectives_.at(bucket)->spent; }
  /// Returns the exchanges of the last step; none with parameter servers, which have their own.
  const std::vector<EchoCollective::Made>& exchanges(std::size_t bucket) const {
    static const std::vector<EchoCollective::Made> kNone;
    return served_ ? kNone : collectives_.at(bucket)->exchanges;
  }

 private:
  std::unique_ptr<EchoCollective> echo(EchoServers* servers) {
    served_ = servers != nullptr;
    auto collective = std::make_unique<EchoCollective>(servers, rank_);
    collectives_.push_back(collective.get());
    return collective;
  }

  std::size_t rank_;
  bool served_ = false;
  std::vector<EchoCollective*> collectives_;  // by bucket; the replay owns them
  Replay replay_;
  std::vector<unsigned char> foreign_ = std::vector<unsigned char>(kForeignBytes);
  StepReport report_;
  std::exception_ptr error_;
};

// Samples of one bucket from all workers and all steps with an exchange.
struct BucketSamples {
  std::vector<double> compress, between;    // `between` exchanges, by the thread that exchanges
  std::vector<double> decode, decode_many;  // of kFew and of kMany gathered messages
  std::vector<ExchangeWork> exchanges;      // sums over steps

  void add(const std::vector<EchoCollective::Made>& made, std::size_t rank, std::size_t ranks) {
    if (exchanges.size() < made.size()) exchanges.resize(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      exchanges[i].operation = made[i].exchange;
      exchanges[i].bytes.resize(ranks);
      exchanges[i].bytes[rank] += made[i].bytes;
      exchanges[i].k += made[i].k / static_cast<double>(ranks);
    }
  }
};

struct Samples {
  explicit Samples(std::size_t count) : buckets(count) {}
  std::vector<BucketSamples> buckets;
  std::vector<double> hold;
  double payload = 0, selected = 0;
  std::size_t exchanged = 0;

  void add(const Worker& worker, std::size_t rank, std::size_t ranks, std::size_t gathered) {
    const StepReport& report = worker.report();
    if (!report.exchanged) return hold.push_back(report.codec);
    payload += static_cast<double>(report.payload_bytes);
    selected += static_cast<double>(report.target > 0 ? report.selected : 0);
    ++exchanged;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      double compress = report.codec, decode = report.codec_decode, between = 0;
      if (buckets.size() > 1) {  // the timeline has each bucket's times
        compress = decode = 0;
        for (const PhaseSpan& span : report.timeline) {
          if (span.bucket != i) continue;
          if (span.phase == Phase::kCompress) compress += span.end - span.begin;
          if (span.phase == Phase::kDecode) decode += span.end - span.begin;
          if (span.phase == Phase::kExchange) between += span.end - span.begin;
        }
        // The rest of several exchanges is the work between them.
        if (worker.exchanges(i).size() > 1)
          buckets[i].between.push_back(std::max(0.0, between - worker.spent(i)));
      }
      buckets[i].compress.push_back(compress);
      (gathered == EchoCollective::kMany ? buckets[i].decode_many : buckets[i].decode)
          .push_back(decode);
      buckets[i].add(worker.exchanges(i), rank, ranks);
    }
  }
};

// Steps all workers, `at_once` of them at the same time.
void step_all(std::vector<std::unique_ptr<Worker>>& workers, std::uint64_t index, int at_once,
              std::size_t gathered) {
  for (std::size_t first = 0; first < workers.size(); first += static_cast<std::size_t>(at_once)) {
    const std::size_t last = std::min(workers.size(), first + static_cast<std::size_t>(at_once));
    for (std::size_t i = first; i < last; ++i)
      if (workers[i]->replay().loads()) workers[i]->replay().load(index);
    std::vector<std::jthread> threads;  // joined before the next ones start
    for (std::size_t i = first + 1; i < last; ++i)
      threads.emplace_back(
          [&worker = *workers[i], index, gathered] { worker.step(index, gathered); });
    workers[first]->step(index, gathered);
  }
  for (const auto& worker : workers) worker->rethrow();
}

bool gathers(const std::vector<ExchangeWork>& exchanges) {
  return std::any_of(exchanges.begin(), exchanges.end(),
                     [](const ExchangeWork& one) { return one.operation == Exchange::kAllGather; });
}

// @param passed  the samples are wall-clock times, not CPU times
ProfiledBucket bucket_of(const BucketSamples& samples, double steps, bool passed) {
  ProfiledBucket bucket;
  bucket.compress = typical_pass(samples.compress, passed);
  bucket.exchanges = samples.exchanges;
  for (ExchangeWork& one : bucket.exchanges) {
    for (double& bytes : one.bytes) bytes /= steps;
    one.k /= steps;
  }
  if (!samples.between.empty())
    bucket.exchanges.back().copies = typical_pass(samples.between, passed);
  if (!gathers(bucket.exchanges)) {
    std::vector<double> all = samples.decode;
    all.insert(all.end(), samples.decode_many.begin(), samples.decode_many.end());
    bucket.decode = typical_pass(all, passed);
    return bucket;
  }
  // The aggregate is cleared once, and each message is added to it.
  constexpr auto kFew = static_cast<double>(EchoCollective::kFew);
  constexpr auto kMany = static_cast<double>(EchoCollective::kMany);
  const double many = typical_pass(samples.decode_many, passed);
  bucket.decode_message = many / kMany;
  if (samples.decode.empty()) return bucket;
  const double few = typical_pass(samples.decode, passed);
  bucket.decode_message = std::clamp((many - few) / (kMany - kFew), 0.0, many / kMany);
  bucket.decode = many - kMany * bucket.decode_message;
  return bucket;
}

// Adds units, or slices of them, to the buckets in which they are pushed.
void share_out(const std::vector<UnitWork>& units, const std::vector<ReplayUnit>& pushed,
               CodecProfile& profile) {
  for (ProfiledBucket& bucket : profile.buckets)
    bucket.exchanges = {{.operation = Exchange::kPushPull, .bytes = {0}}};
  for (std::size_t i = 0; i < units.size(); ++i) {
    ExchangeWork& exchange = profile.buckets.at(pushed[i].bucket).exchanges.front();
    exchange.bytes[0] += units[i].push;
    exchange.units.push_back(units[i]);
  }
}

ReplayOptions replay_options(const CompressorRules& compressor, const SweepOptions& options,
                             const CodecCalibration& calibration) {
  const CollectiveInfo& collective = find_collective(calibration.collective.name);
  ReplayOptions replay;
  replay.compressor = compressor;
  replay.bucketing = calibration.bucketing;
  replay.sparse_sums = collective.can(Exchange::kSparseAllReduce);
  if (collective.can(Exchange::kPushPull))
    replay.servers = push_pull_options(calibration.collective, 1);
  replay.seed = options.seed;
  replay.threads = options.threads;
  replay.compute_scale = 0;
  replay.non_finite = options.zero_non_finite ? NonFinite::kZero : NonFinite::kError;
  return replay;
}

}  // namespace

CodecProfile measure_codec(const Trace& trace, const CompressorRules& compressor,
                           const SweepOptions& options, const CodecCalibration& calibration) {
  const ReplayOptions replay = replay_options(compressor, options, calibration);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int rank = 0; rank < calibration.ranks; ++rank)
    workers.push_back(std::make_unique<Worker>(trace, replay, rank));
  std::unique_ptr<EchoServers> servers;
  if (replay.servers) {
    CompressorSettings settings;
    settings.seed = options.seed;
    settings.threads = options.threads;
    servers = std::make_unique<EchoServers>(workers.front()->replay().units(), *replay.servers,
                                            workers.size(), settings, calibration.bucketing.epoch);
    for (const auto& worker : workers) worker->connect(*servers);
  }
  const std::uint64_t period = workers.front()->replay().period();
  const auto most = static_cast<std::uint64_t>(calibration.most_steps);
  const auto fewest = static_cast<std::uint64_t>(calibration.fewest_steps);
  for (const auto& worker : workers)
    worker->replay().prepare(std::min<std::uint64_t>(trace.steps(), most * period));

  Samples samples(workers.front()->replay().buckets());
  std::uint64_t exchanged = 0, in_first_period = 0;
  const double begin = now_seconds();
  for (std::uint64_t index = 0;; ++index) {
    // The first exchange that counts, which may be the only one, gathers more messages: they hide
    // the part of decoding that does not depend on their number.
    const std::size_t gathered = exchanged % 2 == 0 ? EchoCollective::kMany : EchoCollective::kFew;
    step_all(workers, index, calibration.at_once, gathered);
    const bool sent = workers.front()->report().exchanged;
    if (servers && sent)
      servers->answer_all(index, index >= static_cast<std::uint64_t>(calibration.first_step));
    in_first_period += sent && index < period ? 1 : 0;
    if (index < static_cast<std::uint64_t>(calibration.first_step)) continue;
    exchanged += sent ? 1 : 0;
    for (std::size_t rank = 0; rank < workers.size(); ++rank)
      samples.add(*workers[rank], rank, workers.size(), gathered);
    const bool late = now_seconds() - begin > calibration.seconds;
    const std::uint64_t wanted = period > 1 ? 1 : fewest;
    if (index + 1 >= period && (exchanged >= most || (late && exchanged >= wanted))) break;
    // The accumulating steps of a long period are alike, so it goes on with the exchange, the only
    // one in a period of one compressor.
    constexpr std::size_t kEnoughHolds = 8;
    if (late && compressor.specs().size() == 1 && samples.hold.size() >= kEnoughHolds &&
        index + 2 < period)
      index = period - 2;
  }

  CodecProfile profile;
  profile.compressor = compressor.to_string();
  profile.period = static_cast<double>(period) /
                   static_cast<double>(std::max<std::uint64_t>(1, in_first_period));
  profile.hold = typical_pass(samples.hold, false);
  profile.payload_bytes = samples.payload / static_cast<double>(samples.exchanged);
  profile.elements = static_cast<double>(trace.elements());
  if (samples.selected > 0)
    profile.density = samples.selected / static_cast<double>(samples.exchanged) / profile.elements;
  profile.source = "measured on this machine";
  const std::vector<PlannedBucket> plan =
      plan_buckets(trace.tensors(), compressor, calibration.bucketing);
  for (std::size_t i = 0; i < samples.buckets.size(); ++i) {
    profile.buckets.push_back(
        bucket_of(samples.buckets[i], static_cast<double>(exchanged), samples.buckets.size() > 1));
    profile.buckets.back().tensors = plan.at(i).tensors();
  }
  if (servers) share_out(servers->profile(), workers.front()->replay().units(), profile);
  return profile;
}

}  // namespace thinpipe
