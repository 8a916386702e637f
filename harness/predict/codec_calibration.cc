#include "harness/predict/codec_calibration.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "harness/predict/echo_pattern.h"
#include "workloads/exchange/push_pull_options.h"
#include "workloads/replay/plan.h"
#include "workloads/replay/replay.h"

namespace thinpipe {

namespace {

// In a run, cores come to the codec from other work. So before each step a core walks through as
// many bytes, more than its caches keep beside the codec's own data, and sleeps for a moment.
constexpr std::size_t kForeignBytes = std::size_t{16} << 20;
constexpr double kPause = 0.002;

// One rank's replay, and what its steps took.
class Worker {
 public:
  Worker(const Trace& trace, const ReplayOptions& options, int rank)
      : rank_(static_cast<std::size_t>(rank)), replay_(trace, options, rank, EchoPattern::kRanks) {
    if (options.servers) return;
    replay_.connect([this](std::size_t) { return echo(nullptr); });
  }
  /// Where there are servers.
  void connect(EchoServers& servers) { replay_.connect(echo(&servers)); }

  Replay& replay() { return replay_; }

  void step(std::uint64_t index) {
    try {
      for (EchoPattern* pattern : patterns_) pattern->exchanges.clear();
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
  /// In the step just run; none where there are servers, which know themselves.
  const std::vector<EchoPattern::Made>& exchanges(std::size_t bucket) const {
    static const std::vector<EchoPattern::Made> kNone;
    return served_ ? kNone : patterns_.at(bucket)->exchanges;
  }

 private:
  std::unique_ptr<EchoPattern> echo(EchoServers* servers) {
    served_ = servers != nullptr;
    auto pattern = std::make_unique<EchoPattern>(servers, rank_);
    patterns_.push_back(pattern.get());
    return pattern;
  }

  std::size_t rank_;
  bool served_ = false;
  std::vector<EchoPattern*> patterns_;  // by bucket; the replay has them
  Replay replay_;
  std::vector<unsigned char> foreign_ = std::vector<unsigned char>(kForeignBytes);
  StepReport report_;
  std::exception_ptr error_;
};

// The first quartile where times that passed stand for processor time: others on the machine make
// them longer, never shorter.
double typical_pass(std::vector<double> values, bool passed) {
  if (values.empty()) return 0;
  const std::size_t place = passed ? values.size() / 4 : values.size() / 2;
  const auto found = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), found, values.end());
  return *found;
}

// Of one bucket, all workers and steps in which something was sent.
struct BucketSamples {
  std::vector<double> compress, decode;
  std::vector<ProfiledExchange> exchanges;  // sums over steps

  void add(const std::vector<EchoPattern::Made>& made, std::size_t rank, std::size_t ranks) {
    if (exchanges.size() < made.size()) exchanges.resize(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      exchanges[i].exchange = made[i].exchange;
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

  void add(const Worker& worker, std::size_t rank, std::size_t ranks) {
    const StepReport& report = worker.report();
    if (!report.exchanged) return hold.push_back(report.codec);
    payload += static_cast<double>(report.payload_bytes);
    selected += static_cast<double>(report.target > 0 ? report.selected : 0);
    ++exchanged;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      double compress = report.codec, decode = report.codec_decode;
      if (buckets.size() > 1) {  // whose times the timeline tells apart
        compress = decode = 0;
        for (const PhaseSpan& span : report.timeline) {
          if (span.bucket != i) continue;
          if (span.phase == Phase::kCompress) compress += span.end - span.begin;
          if (span.phase == Phase::kDecode) decode += span.end - span.begin;
        }
      }
      buckets[i].compress.push_back(compress);
      buckets[i].decode.push_back(decode);
      buckets[i].add(worker.exchanges(i), rank, ranks);
    }
  }
};

// In groups of so many at once.
void step_all(std::vector<std::unique_ptr<Worker>>& workers, std::uint64_t index, int at_once) {
  for (std::size_t first = 0; first < workers.size(); first += static_cast<std::size_t>(at_once)) {
    const std::size_t last = std::min(workers.size(), first + static_cast<std::size_t>(at_once));
    for (std::size_t i = first; i < last; ++i)
      if (workers[i]->replay().loads()) workers[i]->replay().load(index);
    std::vector<std::thread> threads;
    for (std::size_t i = first + 1; i < last; ++i)
      threads.emplace_back([&worker = *workers[i], index] { worker.step(index); });
    workers[first]->step(index);
    for (std::thread& thread : threads) thread.join();
  }
  for (const auto& worker : workers) worker->rethrow();
}

bool gathers(const std::vector<ProfiledExchange>& exchanges) {
  return std::any_of(exchanges.begin(), exchanges.end(), [](const ProfiledExchange& one) {
    return one.exchange == Exchange::kAllGather;
  });
}

// @param passed  its times are of a clock, not of a processor
ProfiledBucket bucket_of(const BucketSamples& samples, double steps, bool passed) {
  ProfiledBucket bucket;
  bucket.compress = typical_pass(samples.compress, passed);
  bucket.exchanges = samples.exchanges;
  for (ProfiledExchange& one : bucket.exchanges) {
    for (double& bytes : one.bytes) bytes /= steps;
    one.k /= steps;
  }
  const double decode = typical_pass(samples.decode, passed);
  if (gathers(bucket.exchanges))
    bucket.decode_message = decode / EchoPattern::kRanks;
  else
    bucket.decode = decode;
  return bucket;
}

// Units, or their pieces, to the buckets in which they are pushed.
void share_out(const std::vector<ProfiledUnit>& units, const std::vector<ReplayUnit>& pushed,
               CodecProfile& profile) {
  for (ProfiledBucket& bucket : profile.buckets)
    bucket.exchanges = {{.exchange = Exchange::kPushPull, .bytes = {0}}};
  for (std::size_t i = 0; i < units.size(); ++i) {
    ProfiledExchange& exchange = profile.buckets.at(pushed[i].bucket).exchanges.front();
    exchange.bytes[0] += units[i].push;
    exchange.units.push_back(units[i]);
  }
}

ReplayOptions replay_options(const CompressorRules& compressor, const SweepOptions& options,
                             const CodecCalibration& calibration) {
  const PatternInfo& pattern = find_pattern(calibration.pattern.name);
  ReplayOptions replay;
  replay.compressor = compressor;
  replay.feed = calibration.feed;
  replay.sparse_sums = pattern.can(Exchange::kSparseAllReduce);
  if (pattern.can(Exchange::kPushPull)) replay.servers = push_pull_options(calibration.pattern, 1);
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
                                            workers.size(), settings);
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
    step_all(workers, index, calibration.at_once);
    const bool sent = workers.front()->report().exchanged;
    if (servers && sent)
      servers->answer_all(index, index >= static_cast<std::uint64_t>(calibration.first_step));
    in_first_period += sent && index < period ? 1 : 0;
    if (index < static_cast<std::uint64_t>(calibration.first_step)) continue;
    exchanged += sent ? 1 : 0;
    for (std::size_t rank = 0; rank < workers.size(); ++rank)
      samples.add(*workers[rank], rank, workers.size());
    const bool late = now_seconds() - begin > calibration.seconds;
    const std::uint64_t wanted = period > 1 ? 1 : fewest;
    if (index + 1 >= period && (exchanged >= most || (late && exchanged >= wanted))) break;
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
  profile.source = "measured here";
  const std::vector<PlannedBucket> plan =
      plan_buckets(trace.tensors(), compressor, calibration.feed);
  for (std::size_t i = 0; i < samples.buckets.size(); ++i) {
    profile.buckets.push_back(
        bucket_of(samples.buckets[i], static_cast<double>(exchanged), samples.buckets.size() > 1));
    profile.buckets.back().tensors = plan.at(i).tensors();
  }
  if (servers) share_out(servers->profile(), workers.front()->replay().units(), profile);
  return profile;
}

}  // namespace thinpipe
