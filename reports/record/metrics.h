// The metrics of records, each defined once with unit and meaning. Code names a metric as
// "step_time"_metric, which does not compile for an unknown name. A test compares docs/records.md
// and records.schema.json with this list.
#pragma once

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thinpipe {

/// A metric's definition; converts to its name.
struct MetricType {
  const char* name;     ///< in records, exports and the gate's rules
  const char* unit;     ///< `s`, `B`, `bit`, `bit/s`; `1` for none
  const char* better;   ///< `lower`, `higher` or `target:<number>`
  const char* kind;     ///< `timed` (by clocks and counters), `exact` or `quality`
  const char* meaning;  ///< definition, and the rank that is measured

  operator std::string() const { return name; }  // NOLINT(google-explicit-constructor)

  static constexpr MetricType seconds(const char* name, const char* meaning) {
    return {name, "s", "lower", "timed", meaning};
  }
  static constexpr MetricType bytes(const char* name, const char* meaning) {
    return {name, "B", "lower", "exact", meaning};
  }
  static constexpr MetricType quality(const char* name, const char* better, const char* meaning) {
    return {name, "1", better, "quality", meaning};
  }
};

/// A time "of the last rank" is the time of the rank that entered the exchange last in a step,
/// because the exchange times of other ranks include their wait for this rank. If exchanges overlap
/// with the rest of the step, the rank with the shortest exchange counts instead.
inline constexpr MetricType kMetricTypes[] = {
    MetricType::seconds("step_time", "a step, from its start to its end, on the slowest rank"),
    MetricType::seconds("compute_time", "computing, of the last rank"),
    MetricType::seconds("compress_time", "compressing, of the last rank"),
    MetricType::seconds("compress_cpu_time",
                        "CPU time of compressing, without waits for a core, of the last rank"),
    MetricType::seconds("exchange_time", "exchanging scales and payloads, of the last rank"),
    MetricType::seconds("decode_time",
                        "decoding and averaging, of the last rank; in `bench`, decoding a payload"),
    MetricType::seconds("copy_down_time",
                        "copies from a GPU to the host, by the GPU's clock, of the last rank"),
    MetricType::seconds("copy_up_time", "copies from the host to a GPU, likewise"),
    MetricType::seconds("exposed_time",
                        "waiting for exchanges after all other work, on the slowest rank"),
    MetricType::seconds("link_idle_time",
                        "time without an exchange under way, on the slowest rank"),
    {"ideal_time", "s", "lower", "exact",
     "the longest compute time of a rank: a step without communication"},
    MetricType::seconds("noop_time", "a step without codec work or exchange, on the slowest rank"),
    {"bus_bandwidth", "bit/s", "higher", "timed",
     "bus bandwidth as nccl-tests defines it, of the payload"},
    MetricType::bytes("payload_bytes",
                      "payloads that a rank encodes, in trainings plus pulls: mean over ranks"),
    MetricType::bytes("dense_bytes", "the gradient uncompressed: 4 bytes per element"),
    MetricType::bytes("pull_bytes", "payloads that a worker pulls: mean over workers"),
    {"wire_bytes", "B", "lower", "timed", "frames that a host sends in a step, by its qdisc"},
    MetricType::quality("quality", "target:1",
                        "sent over requested elements (k\xcc\x82/k), summed over tensors; mean "
                        "over ranks"),
    MetricType::quality("tensor_quality", "target:1", "k\xcc\x82/k of each tensor"),
    MetricType::quality("relative_error", "lower",
                        "norm of decoded minus input over the norm of the input; mean over ranks"),
    MetricType::quality("second_relative_error", "lower",
                        "`relative_error` of means that are compressed again"),
    MetricType::quality("cosine", "higher", "of the angle between decoded values and input"),
    MetricType::quality("drift", "lower", "`relative_error` of the sums over all steps so far"),
    MetricType::quality("top_k_overlap", "higher", "sent fraction of the k largest elements"),
    MetricType::seconds("encode_time", "an encode of the tensor; on a GPU by the GPU's clock"),
    MetricType::seconds("encode_wall_time",
                        "an encode on a GPU by the host's clock, including the wait"),
    MetricType::seconds("decode_wall_time", "a decode on a GPU, likewise"),
    MetricType::seconds("read_time", "t_R: reading the tensor once"),
    MetricType::seconds("encode_floor", "lower bound of `encode_time`, on a CPU"),
    MetricType::seconds("copy_time", "copying the tensor within the GPU"),
    {"encode_over_read", "1", "lower", "timed", "`encode_time` over `read_time`"},
    {"decode_over_read", "1", "lower", "timed", "`decode_time` over `read_time`"},
    MetricType::bytes("encoded_bytes", "a payload"),
    {"bits_per_element", "bit", "lower", "exact", "payload over elements"},
    {"passes", "1", "lower", "exact", "passes of an encode over the tensor"},
    {"allocations", "1", "lower", "exact", "memory allocations of an encode"},
    MetricType::seconds("job_time", "a job, from its start to its end"),
    {"job_bytes", "B", "lower", "timed",
     "frames that a host sends in a job, by its qdisc: mean over hosts"},
    MetricType::seconds("train_seconds", "the whole training, in emulated time"),
    MetricType::bytes("train_bytes", "`payload_bytes` of the whole training"),
    MetricType::quality("final_loss", "lower", "on held-out data, at the end"),
    MetricType::quality("final_accuracy", "higher", "on held-out data, at the end; a fraction"),
    MetricType::quality("final_perplexity", "lower", "on held-out data, at the end"),
    MetricType::quality("target_steps", "lower", "steps until an evaluation reaches the target"),
    MetricType::seconds("target_seconds", "emulated time until an evaluation reaches the target"),
    MetricType::bytes("target_bytes",
                      "payloads of a worker until an evaluation reaches the target"),
};

/// Returns the metric of that name.
consteval const MetricType& operator""_metric(const char* name, std::size_t length) {
  for (const MetricType& metric : kMetricTypes)
    if (std::string_view(name, length) == metric.name) return metric;
  throw "no such metric";
}

/// A metric with its raw samples; NaN stands for a sample that was not finite.
struct Metric {
  std::string unit;  ///< unit, better and kind as in MetricType
  std::string better;
  std::string kind;
  std::vector<double> samples;

  std::vector<double> finite_samples() const {
    std::vector<double> finite;
    for (const double sample : samples)
      if (std::isfinite(sample)) finite.push_back(sample);
    return finite;
  }
};

/// By name.
using Metrics = std::map<std::string, Metric>;

/// Sets the metric's samples.
inline void put(Metrics& metrics, const MetricType& type, std::vector<double> samples) {
  metrics[type] = {type.unit, type.better, type.kind, std::move(samples)};
}

}  // namespace thinpipe
