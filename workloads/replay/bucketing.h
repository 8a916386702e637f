// How gradients are bucketed: the compressor of each tensor, the tensors that are compressed and
// sent together, when they are sent, and the epoch of training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compressors/spec.h"
#include "workloads/collectives/outer_optimiser.h"

namespace thinpipe {

/// The spec of tensors that match no rule, or that are too small to compress.
inline const Spec kUncompressed{.name = "none", .values = {}};

/// The compressor of each tensor: one for all, or by the tensors' names.
///
/// Example: `conv*:none;fc*:topk:ratio=0.001`. Rules are joined by `;`. Each rule is a pattern of
/// tensor names, a colon and a spec. Patterns are as in a shell: `*` matches any letters, `?` one
/// letter, `[a-c]` one of these letters. The first rule whose pattern matches decides; tensors that
/// match no rule go uncompressed. A plain spec is for all tensors. A single rule whose pattern is a
/// full name must end in a `;`, which distinguishes it from a plain spec.
class CompressorRules {
 public:
  /// Sets one compressor for all tensors.
  CompressorRules(Spec all);  // NOLINT(google-explicit-constructor)

  /// Parses rules without alternatives (`|`). @throws InputError naming the rule and what is wrong
  static CompressorRules parse(std::string_view text);
  /// Returns the cross product of all rules' alternatives, in writing order. @throws as parse()
  static std::vector<CompressorRules> expand(std::string_view text);

  /// Returns the tensor's compressor.
  const Spec& of(const std::string& tensor) const;

  /// Returns whether one compressor serves all tensors.
  bool uniform() const { return rules_.size() == 1 && rules_[0].pattern.empty(); }
  /// Returns all specs that of() may return, each once, the first rule's first.
  std::vector<Spec> specs() const;

  /// Returns the patterns that match none of the tensors, in the rules' order.
  std::vector<std::string> unmatched(std::span<const std::string> tensors) const;

  /// Returns the name of the method, or "rules".
  std::string method() const { return uniform() ? rules_[0].spec.name : "rules"; }
  /// Returns the canonical text, which parse() reads.
  std::string to_string() const;
  /// Returns the rules with the normal form of each spec (Parameters::normal()).
  /// @throws InputError as check_spec
  CompressorRules normal() const;
  bool operator==(const CompressorRules&) const = default;

 private:
  struct Rule {
    std::string pattern;  // "" for all
    Spec spec;
    bool matches(const std::string& tensor) const;
    bool operator==(const Rule&) const = default;
  };
  CompressorRules() = default;

  std::vector<Rule> rules_;
};

/// Input of one compressor.
enum class Granularity { kTensor, kBucket, kModel };

/// When payloads leave.
enum class Overlap {
  kNone,    ///< all at once, after the backward pass
  kBucket,  ///< bucket by bucket, as their gradients become ready
};

/// Rule by which tensors are put into buckets, in order. A bucket is closed when its size reaches
/// its limit: `first` for the first bucket, `rest` for all others. This is PyTorch DDP's rule
/// (compute_bucket_assignment_by_size) with DDP's defaults. In the first iteration DDP takes
/// tensors in reverse of the model's order. Later it takes them in the order in which they became
/// ready in the first iteration.
struct BucketLimits {
  enum class Order { kReady, kReverse };
  std::size_t first = std::size_t{1} << 20;  ///< bytes of FP32
  std::size_t rest = std::size_t{25} << 20;
  Order order = Order::kReady;
  bool operator==(const BucketLimits&) const = default;

  /// Parses `first=1mib,rest=25mib,order=ready`, with any key left out; `ddp` is all defaults.
  /// @throws InputError
  static BucketLimits parse(const std::string& text);
  std::string to_string() const;
};

struct Bucketing {
  Granularity granularity = Granularity::kTensor;
  std::size_t min_elements = 0;  ///< smaller tensors go uncompressed
  Overlap overlap = Overlap::kNone;
  /// If true, codecs work while the backward pass continues. If false, the backward pass waits for
  /// codecs, as it waits for a hook that is called in its thread. Used only with overlap.
  bool codec_beside = false;
  BucketLimits limits;
  /// Gradients that every rank adds up before the sum is compressed and exchanged (FedAvg; SBC
  /// fig. 2a).
  std::uint64_t local_steps = 1;
  /// Fragments of the model that are exchanged in turn, each once in local_steps steps (Douillard
  /// et al., Streaming DiLoCo, arXiv 2501.18512, section 2.2). 1: the whole model at once.
  std::size_t fragments = 1;
  /// The number of local steps whose compute overlaps a fragment's exchange, which ends in the last
  /// of them (tau of the paper, section 2.3). A fragment of the whole model may be delayed, too.
  /// 0: each fragment is exchanged after the compute of the step that ends its turn.
  std::uint64_t fragment_delay = 0;
  /// The weight of a worker's own parameters when a delayed fragment is applied (alpha of the
  /// paper). Only trainings have parameters.
  double fragment_mix = kFragmentMix;
  static constexpr double kFragmentMix = 0.5;
  /// Every rank's second optimiser, which is applied to the aggregate.
  std::optional<OuterOptions> outer;
  double epoch = 0;  ///< of training, for warm-up schedules (DGC section 4.1)
  bool operator==(const Bucketing&) const = default;

  bool is_default() const { return *this == Bucketing(); }
  /// Returns true if exchanges overlap compute.
  bool overlaps() const { return overlap != Overlap::kNone || fragment_delay > 0; }
  /// Returns true if workers that take local steps have parameters of their own after an exchange:
  /// those of other fragments, or of delayed ones.
  bool takes_turns() const { return fragments > 1 || fragment_delay > 0; }
  /// Returns true if a step ends with the turn of a bucket. With fragments, bucket p is fragment p.
  /// Turns are spread evenly over the local steps, at most one in a step. The last fragment's turn
  /// ends the period, as does that of the whole model.
  bool has_turn(std::size_t bucket, std::uint64_t index) const {
    return (index + 1) % local_steps == offset_of(bucket);
  }
  /// Returns true if a bucket's sum of local steps begins anew in a step: after its turn, or as
  /// many steps earlier as its exchange is delayed.
  bool begins_sum(std::size_t bucket, std::uint64_t index) const {
    return (index + fragment_delay) % local_steps == offset_of(bucket);
  }
  /// Returns true if a delayed fragment is exchanged during this step and a later one.
  bool is_within_exchange(std::uint64_t index) const {
    for (std::uint64_t later = 1; later < fragment_delay; ++later)
      for (std::size_t bucket = 0; bucket < fragments; ++bucket)
        if (has_turn(bucket, index + later)) return true;
    return false;
  }
  /// Returns settings other than the default, canonically: `granularity=bucket;overlap=bucket`; ""
  /// if all are the default.
  std::string to_string() const;

 private:
  // Returns t_p of the paper's algorithm 2: local steps before the bucket's turn, modulo the
  // period.
  std::uint64_t offset_of(std::size_t bucket) const {
    return fragments == 1 ? 0 : (bucket + 1) * local_steps / fragments % local_steps;
  }
};

const char* to_string(Granularity granularity);
const char* to_string(Overlap overlap);
/// @throws InputError
Granularity parse_granularity(const std::string& text);
Overlap parse_overlap(const std::string& text);

}  // namespace thinpipe
