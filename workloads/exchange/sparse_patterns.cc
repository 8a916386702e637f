// Registers them. What of a job is not sparse goes by the ring with the sparse patterns.
#include "workloads/exchange/sparse_patterns.h"

#include <utility>

#include "compressors/methods/common.h"
#include "workloads/exchange/gtopk.h"
#include "workloads/exchange/mean_count.h"
#include "workloads/exchange/oktopk.h"
#include "workloads/exchange/qgz.h"
#include "workloads/exchange/ring_pattern.h"

namespace thinpipe {

namespace {

/// What sparse patterns have beside: a ring for dense arrays, such as small tensors that are sent
/// as they are, over the same transport; and a k where ranks know it of their own elements only.
class RingBeside : public RingPattern {
 public:
  explicit RingBeside(std::unique_ptr<Transport> transport)
      : RingBeside(*transport, std::move(transport)) {}

  const std::vector<std::span<const std::byte>>& all_gather(std::span<const std::byte>) override {
    refuse_exchange(Exchange::kAllGather);
  }
  std::size_t mean_count(std::size_t own, std::size_t dimension) override {
    return mean_count_.run(borrowed_, own, dimension);
  }

 protected:
  Transport& transport() { return borrowed_; }

 private:
  // A reference: nothing is moved before the other argument is there.
  RingBeside(Transport& borrowed, std::unique_ptr<Transport>&& transport)
      : RingPattern(std::move(transport), 0), borrowed_(borrowed) {}

  Transport& borrowed_;
  MeanCount mean_count_;
};

class GTopKPattern : public RingBeside {
 public:
  GTopKPattern(std::unique_ptr<Transport> transport, PutBack put_back)
      : RingBeside(std::move(transport)), gtopk_(put_back) {}

  SparseSum sparse_all_reduce(SparseView own, std::size_t k, std::size_t dimension,
                              float factor) override {
    return gtopk_.run(transport(), own, k, dimension, factor);
  }
  void expected_sparse(std::span<const std::span<const float>> vectors, std::size_t k, float factor,
                       std::span<float> out) const override {
    GTopK::expected(vectors, k, factor, out);
  }

 private:
  GTopK gtopk_;
};

class OkTopKPattern : public RingBeside {
 public:
  OkTopKPattern(std::unique_ptr<Transport> transport, const OkTopKOptions& options)
      : RingBeside(std::move(transport)), oktopk_(options) {}

  SparseSum sparse_all_reduce(SparseView own, std::size_t k, std::size_t dimension,
                              float factor) override {
    return oktopk_.run(transport(), own, k, dimension, factor);
  }
  void expected_sparse(std::span<const std::span<const float>> vectors, std::size_t k, float factor,
                       std::span<float> out) const override {
    oktopk_.expected(vectors, k, factor, out);
  }

 private:
  OkTopK oktopk_;
};

constexpr const char* kSumsFloats =
    "it quantises 32-bit floats itself; expected none, or another pattern";

template <class Float, class Bytes>
std::span<Float> floats_in(Bytes bytes) {
  return {reinterpret_cast<Float*>(bytes.data()), bytes.size() / sizeof(float)};
}

class QgzPattern : public Pattern {
 public:
  QgzPattern(std::unique_ptr<Transport> transport, const QgzOptions& options)
      : transport_(std::move(transport)), qgz_(options, transport_->size()) {}

  using Pattern::all_reduce;
  void all_reduce(ElementType type, std::span<const std::byte> own, std::span<std::byte> result,
                  float factor) override {
    if (type != ElementType::kFloat32) throw InputError(kSumsFloats);
    qgz_.run(*transport_, floats_in<const float>(own), floats_in<float>(result), factor);
  }
  std::optional<CodedSlices> coded_slices(std::size_t elements) const override {
    return qgz_.coded_slices(elements);
  }
  void all_reduce_coded(std::span<const std::span<const std::byte>> slices, std::span<float> result,
                        float factor) override {
    qgz_.run_coded(*transport_, slices, result, factor);
  }
  void expected_all_reduce(ElementType, std::span<const std::span<const float>> arrays,
                           float factor, std::span<float> out) const override {
    qgz_.expected(arrays, factor, out);
  }
  bool lossy(ElementType) const override { return true; }
  TransportCounters counters() const override { return transport_->counters(); }

 private:
  std::unique_ptr<Transport> transport_;
  Qgz qgz_;
};

QgzOptions::Gather gather_named(const std::string& name) {
  if (name == "int4") return QgzOptions::Gather::kInt4;
  return name == "fp32" ? QgzOptions::Gather::kFloat : QgzOptions::Gather::kInt8;
}

}  // namespace

PatternInfo gtopk_pattern() {
  return {.name = "gtopk",
          .summary =
              "sparse vectors added up a binary tree, each time cut to the k greatest; dense ones "
              "by a ring",
          .source = "Shi et al., gTop-k S-SGD, ICDCS 2019, alg. 3",
          .parameters = {choice_parameter("putback", "dropper",
                                          "who takes back what a merge drops: who dropped it, or "
                                          "(as published) whoever sent it, if it is not selected",
                                          {"dropper", "sender"})},
          .exchanges = {Exchange::kSparseAllReduce, Exchange::kAllReduce},
          .make = [](const Parameters& parameters, std::unique_ptr<Transport> transport,
                     std::size_t) -> std::unique_ptr<Pattern> {
            const bool sender = parameters.choice("putback") == "sender";
            return std::make_unique<GTopKPattern>(std::move(transport),
                                                  sender ? PutBack::kSender : PutBack::kDropper);
          }};
}

PatternInfo oktopk_pattern() {
  return {
      .name = "oktopk",
      .summary =
          "sparse vectors split evenly over ranks, added up, selected by one threshold; dense ones "
          "by a ring",
      .source = "Li and Hoefler, Ok-Topk, PPoPP 2022, alg. 1",
      .parameters =
          {integer_parameter("regions", "64", "exchanges between two new splits", 1, 100000),
           integer_parameter("thresholds", "32", "exchanges between two new thresholds", 1, 100000),
           integer_parameter("bucket", "4", "ranks that one rank sends to at a time", 1, 1024),
           real_parameter(
               "balance", "4",
               "even out before gathering where the greatest part is over so many times the mean",
               1, 100000),
           real_parameter("drift", "0",
                          "a new threshold also after over so many times k were selected, or under "
                          "one in so many; 0: never",
                          0, 100000),
           flag_parameter(
               "adapt", "false",
               "threshold / 1.008 below 2/3 k selected, * 1.008 above 4/3 (published code)")},
      .exchanges = {Exchange::kSparseAllReduce, Exchange::kAllReduce},
      .make = [](const Parameters& parameters, std::unique_ptr<Transport> transport,
                 std::size_t) -> std::unique_ptr<Pattern> {
        const auto count = [&](const char* name) {
          return static_cast<std::size_t>(parameters.integer(name));
        };
        return std::make_unique<OkTopKPattern>(
            std::move(transport), OkTopKOptions{.regions = count("regions"),
                                                .thresholds = count("thresholds"),
                                                .at_once = count("bucket"),
                                                .imbalance = parameters.real("balance"),
                                                .adapt = parameters.flag("adapt"),
                                                .drift = parameters.real("drift")});
      }};
}

PatternInfo qgz_pattern() {
  return {.name = "qgz",
          .summary = "reduce-scatter within groups, then between, as 4-bit integers; all-gather",
          .source = "Wang et al., ZeRO++, section 3.3 (qgZ), arXiv 2306.10209",
          .parameters = {integer_parameter("group", "2", "ranks of a group; divides all ranks", 1,
                                           1024),
                         choice_parameter("block", "256", "elements with one scale",
                                          {"32", "64", "128", "256", "512", "1024", "2048"}),
                         choice_parameter("gather", "int8", "what the mean is gathered as",
                                          {"int8", "int4", "fp32"})},
          .exchanges = {Exchange::kAllReduce},
          .make = [](const Parameters& parameters, std::unique_ptr<Transport> transport,
                     std::size_t) -> std::unique_ptr<Pattern> {
            return std::make_unique<QgzPattern>(std::move(transport), qgz_options(parameters));
          },
          .check_ranks = [](const Parameters& parameters,
                            int ranks) { Qgz(qgz_options(parameters), ranks); },
          .refuses =
              [](const Spec&, const Spec& compressor) {
                return summation_of(compressor).element == ElementType::kFloat32 ? "" : kSumsFloats;
              }};
}

QgzOptions qgz_options(const Parameters& parameters) {
  return {.group = static_cast<int>(parameters.integer("group")),
          .block = std::stoul(parameters.choice("block")),
          .gather = gather_named(parameters.choice("gather"))};
}

}  // namespace thinpipe
