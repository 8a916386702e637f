#include "harness/predict/compute_device.h"

#include "workloads/models/catalogue.h"

namespace thinpipe {
namespace {

// A data sheet's card in the name that a driver gives it: "V100-SXM2" in "Tesla V100-SXM2-16GB".
double memory_rate_of(const std::string& device) {
  const std::string maker = "NVIDIA ";
  for (const ModelInfo& model : model_catalogue())
    for (const ModelTimes& times : model.times) {
      const std::string card =
          times.device.starts_with(maker) ? times.device.substr(maker.size()) : times.device;
      if (times.memory_rate > 0 && device.find(card) != std::string::npos) return times.memory_rate;
    }
  return 0;
}

}  // namespace

std::optional<ComputeDevice> compute_device(const Trace& trace) {
  const nlohmann::json& about = trace.metadata();
  const auto provenance = about.find("provenance");
  if (provenance == about.end() || !provenance->is_object()) return std::nullopt;
  const auto device = provenance->find("device");
  if (device == provenance->end() || !device->is_string()) return std::nullopt;
  const std::string name = device->get<std::string>();
  return ComputeDevice{name, memory_rate_of(name)};
}

CodecProfile at_memory_pace(CodecProfile profile, const Trace& trace, const ComputeDevice& device) {
  for (ProfiledBucket& bucket : profile.buckets) {
    double bytes = 0;
    for (const std::size_t tensor : bucket.tensors)
      bytes += static_cast<double>(trace.tensors().at(tensor).elements * sizeof(float));
    bucket.compress = device.memory_rate > 0 ? bytes / device.memory_rate : 0;
    bucket.decode = bucket.compress;
    bucket.decode_message = 0;
    for (ProfiledExchange& exchange : bucket.exchanges) {
      exchange.copies = 0;
      for (ProfiledUnit& unit : exchange.units) unit.decode = unit.compress = 0;
    }
  }
  profile.hold = 0;
  return profile;
}

}  // namespace thinpipe
