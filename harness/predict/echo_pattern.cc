#include "harness/predict/echo_pattern.h"

#include <algorithm>

#include "base/clock.h"
#include "workloads/exchange/element_sum.h"

namespace thinpipe {

struct EchoServers::Unit {
  std::unique_ptr<Compressor> push, pull;  // `pull` null where `push` answers
  std::vector<std::vector<std::byte>> payloads;
  std::vector<float> mean, estimate;  // `estimate` where changes of it are answered
  std::vector<std::byte> place;
  std::size_t size = 0;
  ProfiledUnit sums;
  double steps = 0;

  Compressor& answering() const { return pull ? *pull : *push; }
  void encode(std::uint64_t step) {
    GradientInput input;
    input.values = estimate.empty() ? mean : estimate;
    input.step = step;
    size = answering().encode(input, place).encoded_bytes;
  }
};

EchoServers::EchoServers(const std::vector<ReplayUnit>& units, const PushPullOptions& options,
                         std::size_t ranks, const CompressorSettings& settings) {
  for (const ReplayUnit& one : units) {
    Unit& unit = units_.emplace_back();
    unit.push = make_compressor(one.compressor, one.tensor, settings);
    unit.pull = make_pull_compressor(one.tensor, one.compressor, options, settings);
    unit.payloads.resize(ranks);
    unit.mean.assign(one.tensor.elements, 0.0F);
    if (unit.push->incremental() && unit.answering().incremental())
      unit.estimate.assign(one.tensor.elements, 0.0F);
    unit.place.resize(unit.answering().max_encoded_size());
    unit.encode(0);  // of nothing: the answer to what is pushed first
  }
}

EchoServers::~EchoServers() = default;

void EchoServers::push(std::size_t rank, std::size_t unit, std::span<const std::byte> payload) {
  units_.at(unit).payloads.at(rank).assign(payload.begin(), payload.end());
}

std::span<const std::byte> EchoServers::answer(std::size_t unit) const {
  return std::span(units_.at(unit).place).first(units_[unit].size);
}

void EchoServers::answer_all(std::uint64_t step, bool counts) {
  for (Unit& unit : units_) {
    if (unit.payloads.front().empty()) continue;  // held back
    const double begin = now_seconds();
    double pushed = 0;
    std::fill(unit.mean.begin(), unit.mean.end(), 0.0F);
    const auto ranks = static_cast<double>(unit.payloads.size());
    for (const std::vector<std::byte>& payload : unit.payloads) {
      unit.push->decode_add(payload, static_cast<float>(1 / ranks), unit.mean);
      pushed += static_cast<double>(payload.size());
    }
    const double decoded = now_seconds();
    for (std::size_t i = 0; i < unit.estimate.size(); ++i) unit.estimate[i] += unit.mean[i];
    unit.encode(step);
    const double encoded = now_seconds();
    for (std::vector<std::byte>& payload : unit.payloads) payload.clear();
    if (!counts) continue;
    ++unit.steps;
    unit.sums.push += pushed / ranks;
    unit.sums.pull += static_cast<double>(unit.size);
    unit.sums.decode += (decoded - begin) / ranks;
    unit.sums.compress += encoded - decoded;
  }
}

std::vector<ProfiledUnit> EchoServers::profile() const {
  std::vector<ProfiledUnit> units;
  for (const Unit& unit : units_) {
    const double steps = std::max(1.0, unit.steps);
    units.push_back({.elements = static_cast<double>(unit.mean.size()),
                     .push = unit.sums.push / steps,
                     .pull = unit.sums.pull / steps,
                     .decode = unit.sums.decode / steps,
                     .compress = unit.sums.compress / steps});
  }
  return units;
}

void EchoPattern::all_reduce(ElementType type, std::span<const std::byte> own,
                             std::span<std::byte> result, float factor) {
  exchanges.push_back({Exchange::kAllReduce, static_cast<double>(own.size())});
  scale_elements(type, own, kRanks * factor, result);
}

const std::vector<std::span<const std::byte>>& EchoPattern::all_gather(
    std::span<const std::byte> own) {
  exchanges.push_back({Exchange::kAllGather, static_cast<double>(own.size())});
  messages_.assign(kRanks, own);
  return messages_;
}

// What was selected by this rank is selected again, and nothing is to be put back.
SparseSum EchoPattern::sparse_all_reduce(SparseView own, std::size_t k, std::size_t, float) {
  exchanges.push_back({Exchange::kSparseAllReduce,
                       static_cast<double>(own.size() * sizeof(SparsePair)),
                       static_cast<double>(k)});
  return {own, {}};
}

std::size_t EchoPattern::push(std::span<const UnitPayload> payloads) {
  double bytes = 0;
  for (const UnitPayload& one : payloads) {
    servers_->push(rank_, one.unit, one.payload);
    bytes += static_cast<double>(one.payload.size());
  }
  exchanges.push_back({Exchange::kPushPull, bytes});
  return 0;
}

}  // namespace thinpipe
