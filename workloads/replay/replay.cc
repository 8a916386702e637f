#include "workloads/replay/replay.h"

#include <numeric>
#include <utility>

namespace thinpipe {

Replay::Replay(const Trace& trace, const ReplayOptions& options, int rank, int ranks)
    : buckets_(trace, options, rank, ranks),
      order_(options.bucketing.overlap == Overlap::kNone ? together_step(buckets_)
                                                         : overlapped_step(buckets_)) {
  if (options.servers) {
    units_ = replay_units(buckets_.plan(), *options.servers);
    layout_ = push_pull_layout(units_, *options.servers, ranks,
                               {.seed = options.seed, .rank = rank, .threads = options.threads});
  }
  if (layout_.colocated) make_averager(rank);
}

Replay::~Replay() = default;

void Replay::make_averager(int rank) {
  const ReplayOptions& options = buckets_.options();
  averager_ = std::make_unique<UnitAverager>(
      units_, layout_,
      UnitAveragerOptions{.exchange = *options.servers,
                          .seed = options.seed,
                          .threads = options.threads,
                          .time_scale = options.time_scale,
                          .local_steps = options.bucketing.local_steps,
                          .epoch = options.bucketing.epoch,
                          .epochs_a_step = options.epochs_a_step},
      rank);
}

void Replay::connect(const MakeCollective& make) {
  collectives_.clear();
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    collectives_.push_back(make(buckets_[b].message_capacity()));
    buckets_[b].connect(*collectives_.back());
  }
}

void Replay::connect(std::unique_ptr<Collective> collective) {
  collectives_.clear();
  collectives_.push_back(std::move(collective));
  for (std::size_t b = 0; b < buckets_.size(); ++b) buckets_[b].connect(*collectives_.back());
}

TransportCounters Replay::counters() const {
  TransportCounters all;
  for (const auto& collective : collectives_) {
    const TransportCounters one = collective->counters();
    all.messages += one.messages;
    all.bytes += one.bytes;
    all.frames += one.frames;
  }
  return all;
}

std::uint64_t Replay::period() const {
  std::uint64_t period = 1;
  for (std::size_t b = 0; b < buckets_.size(); ++b) period = std::lcm(period, buckets_[b].period());
  return period * buckets_.options().bucketing.local_steps;
}

bool Replay::loads() const {
  return buckets_.options().device || buckets_.gradients().loads(buckets_.plan());
}

StepReport Replay::step(std::uint64_t index) {
  if (averager_) averager_->begin_step(index);
  return order_->run(index, true);
}

std::vector<std::span<const float>> Replay::by_tensor(std::span<const float> all) const {
  const std::vector<TraceTensor>& tensors = buckets_.trace().tensors();
  std::vector<std::span<const float>> parts(tensors.size());
  std::size_t end = 0;  // of the tensor before
  for (const PlannedBucket& bucket : buckets_.plan())
    for (const PlannedUnit& unit : bucket.units)
      for (std::size_t i = unit.first > 0 ? 1 : 0; i < unit.tensors.size(); ++i) {
        // All slices of a tensor lie one after the other.
        const std::size_t tensor = unit.tensors[i];
        parts[tensor] = all.subspan(end, tensors[tensor].elements);
        end += parts[tensor].size();
      }
  return parts;
}

std::vector<bool> Replay::incremental() const {
  const std::vector<PlannedBucket>& plan = buckets_.plan();
  std::vector<bool> by_tensor(buckets_.trace().tensors().size());
  for (std::size_t b = 0; b < plan.size(); ++b)
    for (std::size_t u = 0; u < plan[b].units.size(); ++u)
      for (const std::size_t tensor : plan[b].units[u].tensors)
        by_tensor[tensor] = buckets_[b].incremental(u);
  return by_tensor;
}

void Replay::save_state(std::vector<std::byte>& state) {
  for (std::size_t b = 0; b < buckets_.size(); ++b) buckets_[b].save_state(state);
  if (averager_) averager_->save_state(state);
  buckets_.save_outer(state);
}

void Replay::load_state(ByteReader& state) {
  for (std::size_t b = 0; b < buckets_.size(); ++b) buckets_[b].load_state(state);
  if (averager_) averager_->load_state(state);
  buckets_.load_outer(state);
}

}  // namespace thinpipe
