#include "workloads/replay/push_pull_units.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "compressors/registry.h"
#include "workloads/collectives/segments.h"

namespace thinpipe {
namespace {

TensorInfo piece_of(const TensorInfo& whole, std::size_t first, std::size_t elements) {
  return {.name = fmt::format("{}[{}..{}]", whole.name, first, first + elements - 1),
          .shape = {static_cast<std::int64_t>(elements)},
          .elements = elements};
}

}  // namespace

std::size_t element_bytes(const Spec& spec) {
  static const std::map<std::string, std::size_t> kBytes = {
      {"none", 4}, {"fedavg", 4}, {"fp16", 2}, {"bf16", 2}};
  const auto known = kBytes.find(spec.name);
  return known == kBytes.end() || clips(spec) ? 0 : known->second;
}

Pieces pieces_of(std::size_t elements, const Spec& push, const PushPullOptions& options) {
  const std::size_t pushed = element_bytes(push), pulled = element_bytes(options.pull_of(push));
  const Pieces whole{.count = 1, .elements = elements, .push_bytes = 0};
  if (pushed == 0 || pulled == 0) return whole;
  const std::size_t each = (kSegmentBytes - kUnitHeadBytes) / std::max(pushed, pulled);
  if (elements <= each) return whole;
  return {.count = (elements + each - 1) / each, .elements = each, .push_bytes = each * pushed};
}

std::vector<ReplayUnit> replay_units(std::span<const PlannedBucket> buckets,
                                     const PushPullOptions& options) {
  std::vector<ReplayUnit> units;
  std::size_t offset = 0;
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket)
    for (const PlannedUnit& unit : buckets[bucket].units) {
      const std::size_t elements = unit.info.elements;
      const Pieces pieces = pieces_of(elements, unit.compressor, options);
      for (std::size_t i = 0; i < pieces.count; ++i) {
        const std::size_t first = pieces.first_element(i);
        units.push_back({pieces.count == 1 ? unit.info
                                           : piece_of(unit.info, first,
                                                      std::min(pieces.elements, elements - first)),
                         unit.compressor, offset + first, bucket, unit.owner});
      }
      offset += elements;
    }
  return units;
}

std::vector<std::size_t> push_order(std::span<const PlannedUnit> units,
                                    const PushPullOptions& options) {
  std::vector<std::size_t> order(units.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<char> grows(units.size());
  for (std::size_t i = 0; i < units.size(); ++i)
    grows[i] = options.pull && expected_bits(*options.pull) > expected_bits(units[i].compressor);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (grows[a] != grows[b]) return grows[a] > grows[b];
    const std::size_t of_a = units[a].info.elements, of_b = units[b].info.elements;
    return grows[a] != 0 ? of_a < of_b : of_a > of_b;
  });
  return order;
}

std::unique_ptr<Compressor> make_pull_compressor(const TensorInfo& tensor, const Spec& push,
                                                 const PushPullOptions& options,
                                                 const CompressorSettings& settings) {
  const Spec pull = options.pull_of(push);
  return pull == push ? nullptr : make_compressor(pull, tensor, settings);
}

PushPullLayout push_pull_layout(const std::vector<ReplayUnit>& units,
                                const PushPullOptions& options, int workers,
                                const CompressorSettings& settings) {
  std::vector<std::size_t> elements;
  for (const ReplayUnit& unit : units) elements.push_back(unit.tensor.elements);
  std::vector<int> server_of;
  if (options.colocated)
    for (const ReplayUnit& unit : units) server_of.push_back(unit.owner);
  else
    server_of = partition_units(elements, options.servers, options.partition);
  PushPullLayout layout{
      .workers = workers, .servers = options.servers, .colocated = options.colocated, .units = {}};
  for (std::size_t i = 0; i < units.size(); ++i) {
    const TensorInfo& tensor = units[i].tensor;
    const Spec& push = units[i].compressor;
    const auto pull = make_pull_compressor(tensor, push, options, settings);
    const std::size_t capacity = make_compressor(push, tensor, settings)->max_encoded_size();
    layout.units.push_back({.name = tensor.name,
                            .elements = tensor.elements,
                            .push_capacity = capacity,
                            .pull_capacity = pull ? pull->max_encoded_size() : capacity,
                            .server = server_of[i]});
  }
  return layout;
}

std::vector<float> part_of_server(const std::vector<ReplayUnit>& units,
                                  const PushPullLayout& layout, int server,
                                  std::span<const float> values) {
  std::vector<float> part;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto place = values.subspan(units[i].offset, units[i].tensor.elements);
    if (layout.units[i].server == server) part.insert(part.end(), place.begin(), place.end());
  }
  return part;
}

PushedUnits::PushedUnits(const PlannedBucket& plan, const PushPullOptions& servers,
                         std::size_t first_unit, const CompressorSettings& settings)
    : order_(push_order(plan.units, servers)) {
  std::size_t pieces = 0;
  for (const PlannedUnit& planned : plan.units) {
    Unit& unit = units_.emplace_back();
    unit.pull = make_pull_compressor(planned.info, planned.compressor, servers, settings);
    unit.pieces = pieces_of(planned.info.elements, planned.compressor, servers);
    unit.first_piece = first_unit + pieces;
    pieces += unit.pieces.count;
  }
  pushed_.reserve(pieces);
  pushes_.reserve(pieces);
  answers_.reserve(pieces);
}

void PushedUnits::push(PushPull& servers, const std::function<bool(std::size_t unit)>& sent,
                       std::span<const std::span<const std::byte>> payloads,
                       const std::function<std::size_t(std::size_t unit)>& come) {
  pushed_.clear();
  pushes_.clear();
  pulled_ = 0;
  std::size_t handed_over = 0;
  const auto hand_over = [&] {
    if (handed_over == pushed_.size()) return;
    pushes_.push_back(servers.push(std::span(pushed_).subspan(handed_over)));
    handed_over = pushed_.size();
  };
  for (const std::size_t i : order_) {
    if (!sent(i)) continue;
    Unit& unit = units_[i];
    unit.first_pushed = pushed_.size();
    for (std::size_t piece = 0; piece < unit.pieces.count; ++piece) {
      const std::size_t begin = unit.pieces.first_byte(piece);
      const bool last = piece + 1 == unit.pieces.count;
      const std::size_t size = last ? payloads[i].size() - begin : unit.pieces.push_bytes;
      while (come && come(i) < begin + size) {
        hand_over();
        servers.progress();
      }
      pushed_.push_back({unit.first_piece + piece, payloads[i].subspan(begin, size)});
    }
  }
  hand_over();
}

bool PushedUnits::pull(PushPull& servers) {
  for (; pulled_ < pushes_.size(); ++pulled_)
    if (!servers.pull(pushes_[pulled_])) return false;
  answers_.clear();
  for (const UnitPayload& pushed : pushed_) answers_.push_back(servers.pulled(pushed.unit));
  return true;
}

std::size_t PushedUnits::pulled_bytes() const {
  std::size_t bytes = 0;
  for (const auto& answer : answers_) bytes += answer.size();
  return bytes;
}

}  // namespace thinpipe
