#include "harness/predict/codec_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/statistics.h"
#include "base/text.h"
#include "compressors/registry.h"
#include "workloads/models/catalogue.h"
#include "workloads/replay/device_gather.h"
#include "workloads/replay/message.h"

namespace thinpipe {
namespace {

void check_trace(const Records& records, const Trace& trace) {
  for (const Header& header : records.headers) {
    const std::string identity = header.trace.text("identity");
    if (identity != trace.identity())
      throw InputError(fmt::format("{}: its codec times are of the trace {}; expected {}",
                                   records.file.string(), identity, trace.identity()));
  }
}

[[noreturn]] void refuse_compressor(const Records& records, const std::string& wanted,
                                    const std::string& device) {
  std::set<std::string> there;
  for (const Point& point : records.points)
    if (point.status != Status::kFailed)
      there.insert(point.axes.compressor +
                   (point.axes.device == kDeviceCpu ? "" : " on " + point.axes.device));
  throw InputError(fmt::format(
      "{}: no point of compressor {}{}; it has {}", records.file.string(), in_quotes(wanted),
      device == kDeviceCpu ? "" : " with --device " + device, fmt::join(there, ", ")));
}

// The samples of all points with `ranks` ranks.
struct RecordedSamples {
  std::vector<double> compress, decode, payload, down, up;
  int ranks = 0;
};

// Returns whether every rank decodes the payloads, or the sums, of all ranks: the decoding of an
// answer of servers is another.
bool decodes_of_all_ranks(const Axes& axes) {
  return axes.collective.empty() || axes.collective.starts_with("allgather-") ||
         axes.collective.starts_with("allreduce-");
}

// Returns the metric with the duration of encoding. CPU time does not include a GPU's work, and the
// CPU time of several threads is their sum, so wall-clock time is used for both.
const MetricType& encoding_time(const Records& records, const std::string& device) {
  const bool one_thread = std::all_of(records.headers.begin(), records.headers.end(),
                                      [](const Header& one) { return one.threads == 1; });
  return device == kDeviceCpu && one_thread ? "compress_cpu_time"_metric : "compress_time"_metric;
}

// Returns the spec with all defaults; the text itself for rules, and where this program does not
// have the method or a parameter.
std::string complete_text(const std::string& compressor) {
  try {
    const CompressorRules rules = CompressorRules::parse(compressor);
    const Spec spec = rules.specs().front();
    if (rules.uniform()) return spec.name + " " + parameters_of(spec).text();
  } catch (const InputError&) {
  }
  return compressor;
}

RecordedSamples samples_of(const Records& records, const std::string& compressor,
                           const std::string& device) {
  const std::string wanted = complete_text(compressor);
  std::map<std::string, bool> known;  // whether a recorded text is the wanted compressor's
  const auto is_wanted = [&](const std::string& text) {
    const auto [at, is_new] = known.try_emplace(text);
    if (is_new) at->second = complete_text(text) == wanted;
    return at->second;
  };
  RecordedSamples found;
  const MetricType& encoding = encoding_time(records, device);
  const auto take = [](std::vector<double> from, std::vector<double>& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (const Point& point : records.points) {
    if (point.status == Status::kFailed || !is_wanted(point.axes.compressor)) continue;
    if (!point.axes.bucketing.empty() || point.axes.device != device) continue;
    if (!decodes_of_all_ranks(point.axes)) continue;
    if (found.ranks > 0 && point.axes.ranks > found.ranks) continue;
    if (point.axes.ranks < found.ranks) found = {};
    found.ranks = point.axes.ranks;
    take(point.samples(encoding), found.compress);
    take(point.samples("decode_time"_metric), found.decode);
    take(point.samples("payload_bytes"_metric), found.payload);
    take(point.samples("copy_down_time"_metric), found.down);
    take(point.samples("copy_up_time"_metric), found.up);
  }
  return found;
}

double median_or_0(const std::vector<double>& values) {
  return values.empty() ? 0 : median(values);
}

double mean_or_0(const std::vector<double>& values) { return values.empty() ? 0 : mean(values); }

// Returns the memory bandwidth of the catalogue's card whose name is part of the driver's name:
// "V100-SXM2" in "Tesla V100-SXM2-16GB".
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

std::vector<CompressorRules> recorded_compressors(const Records& records,
                                                  const std::string& device) {
  std::vector<CompressorRules> found;
  std::set<std::string> seen;
  for (const Point& point : records.points) {
    if (!seen.insert(point.axes.compressor).second) continue;
    const CompressorRules rules = CompressorRules::parse(point.axes.compressor);
    if (rules.uniform() && has_codec(records, rules, device)) found.push_back(rules);
  }
  return found;
}

bool has_codec(const Records& records, const CompressorRules& compressor,
               const std::string& device) {
  return samples_of(records, compressor.to_string(), device).ranks > 0;
}

CodecProfile recorded_codec(const Records& records, const Trace& trace,
                            const CompressorRules& rules, const std::string& device) {
  check_trace(records, trace);
  const std::string name = rules.to_string();
  if (!rules.uniform())
    throw InputError(
        fmt::format("{}: records have no separate codec times for the compressors of {}; expected "
                    "one compressor for all tensors",
                    records.file.string(), in_quotes(name)));
  const Spec compressor = rules.specs().front();
  const RecordedSamples samples = samples_of(records, name, device);
  if (samples.ranks == 0) refuse_compressor(records, name, device);
  const TraceTensor& first = trace.tensors().at(0);
  int rounds = 1;
  for (const TraceTensor& tensor : trace.tensors())
    rounds = std::max(rounds, rounds_of(*make_compressor(
                                  compressor, {tensor.name, tensor.shape, tensor.elements}, {})));
  const auto one = make_compressor(compressor, {first.name, first.shape, first.elements}, {});

  CodecProfile profile;
  profile.compressor = name;
  profile.period = static_cast<double>(one->period());
  profile.elements = static_cast<double>(trace.elements());
  profile.source = "records of " + records.file.string();
  ProfiledBucket& bucket = profile.buckets.emplace_back();
  bucket.tensors.resize(trace.tensors().size());
  std::iota(bucket.tensors.begin(), bucket.tensors.end(), std::size_t{0});
  // Records have means over all steps of a period, and a profile has the step with the exchange.
  const auto of_exchange = [&](double mean) { return profile.period * mean; };
  bucket.compress = of_exchange(median_or_0(samples.compress));
  const double decode = of_exchange(median_or_0(samples.decode));
  profile.payload_bytes = of_exchange(mean_or_0(samples.payload));
  const double down = of_exchange(median_or_0(samples.down));
  const double up = of_exchange(median_or_0(samples.up));
  const double table = static_cast<double>(trace.tensors().size() * kMessageLengthBytes);
  if (aggregation_of(compressor) == Aggregation::kAllReduce) {
    bucket.decode = decode;
    // Each round of an all-reduce waits until its floats are copied from the device to the host.
    // With several rounds, each also waits until the mean is copied back to the device. With a
    // single round, that copy is part of decoding.
    const double waited = rounds > 1 ? down + up : down;
    for (int round = 0; round < rounds; ++round)
      bucket.exchanges.push_back({.operation = Exchange::kAllReduce,
                                  .bytes = {profile.payload_bytes / rounds},
                                  .copies = waited / rounds});
  } else {
    bucket.decode_message = decode / samples.ranks;
    if (dynamic_cast<const SharedScale*>(one.get()) != nullptr)
      bucket.exchanges.push_back({Exchange::kAllGather, {table}});
    // Later chunks come down while the first is sent.
    const double first_chunk =
        std::min(1.0, static_cast<double>(kDownloadPiece) / std::max(1.0, profile.payload_bytes));
    bucket.exchanges.push_back({.operation = Exchange::kAllGather,
                                .bytes = {table + profile.payload_bytes},
                                .copies = first_chunk * down});
  }
  return profile;
}

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
    for (ExchangeWork& exchange : bucket.exchanges) {
      exchange.copies = 0;
      for (UnitWork& unit : exchange.units) unit.decode = unit.compress = 0;
    }
  }
  profile.hold = 0;
  return profile;
}

}  // namespace thinpipe
