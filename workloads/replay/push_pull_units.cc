#include "workloads/replay/push_pull_units.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "compressors/registry.h"
#include "workloads/replay/pieces.h"

namespace thinpipe {

namespace {

TensorInfo piece_of(const TensorInfo& whole, std::size_t first, std::size_t elements) {
  return {.name = fmt::format("{}[{}..{}]", whole.name, first, first + elements - 1),
          .shape = {static_cast<std::int64_t>(elements)},
          .elements = elements};
}

double expected_bits(const Spec& spec) {
  const MethodInfo& method = find_method(spec.name);
  return method.expected_bits(Parameters(method.parameters, spec));
}

}  // namespace

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

}  // namespace thinpipe
