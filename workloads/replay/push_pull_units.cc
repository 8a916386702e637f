#include "workloads/replay/push_pull_units.h"

#include "compressors/registry.h"

namespace thinpipe {

std::vector<ReplayUnit> replay_units(std::span<const PlannedBucket> buckets) {
  std::vector<ReplayUnit> units;
  std::size_t offset = 0;
  for (const PlannedBucket& bucket : buckets)
    for (const PlannedUnit& unit : bucket.units) {
      units.push_back({unit.info, unit.compressor, offset});
      offset += unit.info.elements;
    }
  return units;
}

std::unique_ptr<Compressor> make_pull_compressor(const TensorInfo& tensor, const Spec& push,
                                                 const PushPullOptions& options,
                                                 const CompressorSettings& settings) {
  const Spec& pull = options.pull_of(push);
  return pull == push ? nullptr : make_compressor(pull, tensor, settings);
}

PushPullLayout push_pull_layout(const std::vector<ReplayUnit>& units,
                                const PushPullOptions& options, int workers,
                                const CompressorSettings& settings) {
  std::vector<std::size_t> elements;
  for (const ReplayUnit& unit : units) elements.push_back(unit.tensor.elements);
  const std::vector<int> server_of = partition_units(elements, options.servers, options.partition);
  PushPullLayout layout{.workers = workers, .servers = options.servers, .units = {}};
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto& [tensor, push, offset] = units[i];
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
