#include "workloads/trace/edit/chakra_export.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/output_file.h"
#include "workloads/trace/import/names.h"
#include "workloads/trace/trace_writer.h"

namespace thinpipe {
namespace {

constexpr const char* kSchemaVersion = "0.0.4";  // as Chakra's own generator writes it

std::uint64_t microseconds(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds * 1e6));
}

std::int64_t payload_size(const ChakraExchange& exchange, std::size_t rank) {
  if (exchange.bytes.empty()) return 0;
  return static_cast<std::int64_t>(std::ceil(exchange.bytes[rank % exchange.bytes.size()]));
}

std::int64_t largest_payload(const ChakraExchange& exchange,
                             const std::vector<std::size_t>& ranks) {
  std::int64_t largest = 0;
  for (const std::size_t rank : ranks) largest = std::max(largest, payload_size(exchange, rank));
  return largest;
}

// Simulators run a node on the host if this attribute is true, else on the accelerator.
ChakraAttribute on_cpu(bool value) { return {"is_cpu_op", value}; }

/// The nodes of one rank, which are added step by step.
class RankNodes {
 public:
  RankNodes(const Trace& trace, const SliceParts& parts, std::size_t rank, const ChakraExport& plan)
      : trace_(trace), parts_(parts), rank_(rank), plan_(plan), order_(trace.tensors().size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return trace.tensors()[a].ready_order < trace.tensors()[b].ready_order;
    });
  }

  void add_step(std::size_t step, bool exchanges) {
    const std::uint64_t last = add_compute(step);
    ends_ = {last};
    if (exchanges) {
      std::uint64_t collective = 0;
      for (std::size_t i = 0; i < plan_.buckets.size(); ++i) add_bucket(i, last, collective);
    } else if (plan_.hold > 0) {
      ends_ = {add_codec("accumulate", {last}, plan_.hold)};
    }
  }
  std::vector<ChakraNode> take() { return std::move(nodes_); }

 private:
  std::uint64_t add(ChakraNode node) {
    node.id = nodes_.size() + 1;
    nodes_.push_back(std::move(node));
    return nodes_.back().id;
  }

  std::uint64_t add_timed(const std::string& name, std::vector<std::uint64_t> after,
                          std::uint64_t begin, std::uint64_t end) {
    return add({.name = name,
                .data_deps = std::move(after),
                .start_micros = begin,
                .duration_micros = end - begin,
                .attributes = {on_cpu(false)}});
  }

  std::uint64_t add_codec(const std::string& name, std::vector<std::uint64_t> after,
                          double seconds) {
    return add({.name = name,
                .data_deps = std::move(after),
                .duration_micros = microseconds(seconds),
                .attributes = {on_cpu(plan_.codec_on_cpu)}});
  }

  // Adds the forward pass, and the backward pass cut where gradients become ready. Begins and ends
  // are rounded, not durations, so that rounding errors do not add up.
  // @returns the id of the last node
  std::uint64_t add_compute(std::size_t step) {
    const TraceStepTimes& times = trace_.times(rank_, step);
    const std::uint64_t begin = clock_, backward = begin + microseconds(times.forward);
    std::uint64_t last =
        add_timed(kChakraStep + std::to_string(trace_.training_step(step)), ends_, begin, begin);
    last = add_timed("forward", {last}, begin, backward);
    gradients_.assign(order_.size(), 0);
    clock_ = backward;
    for (const std::size_t i : order_) {
      const TraceTensor& tensor = trace_.tensors()[i];
      // All steps have the trace's ready order. A gradient that was ready earlier in this step
      // waits for those before it.
      const std::uint64_t ready = std::max(clock_, backward + microseconds(times.ready.at(i)));
      last = add_timed(fmt::format("{}: {}", kChakraBackward, tensor.name), {last}, clock_, ready);
      last = add({.name = kChakraReady,
                  .data_deps = {last},
                  .start_micros = ready,
                  .input_shapes = fmt::format("[[{}]]", fmt::join(tensor.shape, ", ")),
                  .input_types = "['Tensor(float)']",
                  .attributes = {on_cpu(false)}});
      gradients_[i] = last;
      clock_ = ready;
    }
    const std::uint64_t end = std::max(clock_, backward + microseconds(times.backward));
    if (end > clock_) last = add_timed(kChakraBackward, {last}, clock_, end);
    clock_ = end;
    return last;
  }

  // Adds encoding, collectives and decoding.
  // @param backward  the last node of the backward pass
  // @param previous  the step's last collective, or 0; collectives of a communicator run one after
  // the other
  void add_bucket(std::size_t number, std::uint64_t backward, std::uint64_t& previous) {
    const ChakraBucket& bucket = plan_.buckets[number];
    std::vector<std::uint64_t> after;
    for (const std::size_t tensor : bucket.tensors) after.push_back(gradients_.at(tensor));
    std::sort(after.begin(), after.end());
    if (!plan_.overlaps && after.back() != backward) after.push_back(backward);
    std::uint64_t last = add_codec(fmt::format("encode bucket {}", number), after, bucket.encode);
    for (const ChakraExchange& exchange : bucket.exchanges) {
      after = {last};
      if (previous != 0 && previous != last) after.insert(after.begin(), previous);
      const bool sums = exchange.collective == ChakraCollective::kAllReduce;
      last = add({.name = fmt::format("{} bucket {}", sums ? "all-reduce" : "all-gather", number),
                  .type = ChakraNodeType::kCollective,
                  .data_deps = after,
                  .attributes = {on_cpu(false),
                                 {"comm_type", static_cast<std::int64_t>(exchange.collective)},
                                 {"comm_size", largest_payload(exchange, parts_.ranks)},
                                 {"payload_size", payload_size(exchange, rank_)}}});
      previous = last;
    }
    ends_.push_back(add_codec(fmt::format("decode bucket {}", number), {last}, bucket.decode));
  }

  const Trace& trace_;
  const SliceParts& parts_;
  std::size_t rank_;
  const ChakraExport& plan_;
  std::vector<std::size_t> order_;  // tensors, the first one ready first
  std::vector<ChakraNode> nodes_;
  std::vector<std::uint64_t> gradients_;  // node after which a tensor's gradient is ready
  std::vector<std::uint64_t> ends_;       // nodes after which the next step begins
  std::uint64_t clock_ = 0;               // us of computing so far
};

}  // namespace

void export_chakra(const Trace& trace, const SliceParts& parts, const ChakraExport& plan,
                   const std::filesystem::path& out) {
  NewFolder folder(out);
  // The k-th exchange is in the step in which k periods end.
  const auto periods = [&](std::size_t steps) {
    return std::floor(static_cast<double>(steps) / plan.period);
  };
  for (std::size_t i = 0; i < parts.ranks.size(); ++i) {
    RankNodes nodes(trace, parts, parts.ranks[i], plan);
    for (std::size_t k = 0; k < parts.steps.size(); ++k) {
      nodes.add_step(parts.steps[k], periods(k + 1) > periods(k));
    }
    const std::string name = fmt::format("{}.{}.et", escaped_file_name(trace.model()), i);
    write_output(folder.file(name),
                 execution_trace_bytes(
                     {.version = kSchemaVersion, .attributes = plan.about, .nodes = nodes.take()}));
  }
  folder.keep();
}

}  // namespace thinpipe
