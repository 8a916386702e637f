// How gradients are fed to compressors: by which one each tensor is compressed, what goes together,
// when, and of which part of training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compressors/spec.h"
#include "workloads/exchange/outer_optimiser.h"

namespace thinpipe {

/// The spec of tensors that no rule names, or that are too small to compress.
inline const Spec kUncompressed{.name = "none", .values = {}};

/// Which compressor each tensor gets: one for all, or by the tensors' names.
///
/// `conv*:none;fc*:topk:ratio=0.001`: parts joined by `;`, each a pattern of names (`*` any
/// letters, `?` one, `[a-c]` one of them, as a shell has them), a colon and a spec. The first part
/// whose pattern matches decides; tensors that none matches go uncompressed. A plain spec is for
/// all tensors. A single part with a name in full ends in a `;`.
class CompressorRules {
 public:
  /// One compressor for all tensors.
  CompressorRules(Spec all);  // NOLINT(google-explicit-constructor)

  /// @throws InputError saying which part is wrong, and how. Alternatives (`|`) are refused.
  static CompressorRules parse(std::string_view text);
  /// The cross product of all parts' alternatives, in writing order.
  static std::vector<CompressorRules> expand(std::string_view text);

  const Spec& of(const std::string& tensor) const;

  /// One compressor for all tensors.
  bool uniform() const { return rules_.size() == 1 && rules_[0].pattern.empty(); }
  /// All specs that of() may give, each once; the first is that of the first part.
  std::vector<Spec> specs() const;

  /// Name of the method, or "rules".
  std::string method() const;
  /// One canonical text for one meaning; parse() reads it.
  std::string to_string() const;
  bool operator==(const CompressorRules&) const = default;

 private:
  struct Rule {
    std::string pattern;  // "" for all
    Spec spec;
    bool operator==(const Rule&) const = default;
  };
  CompressorRules() = default;

  std::vector<Rule> rules_;
};

/// Input of one compressor.
enum class Granularity { kTensor, kBucket, kModel };

/// When payloads leave.
enum class Overlap {
  kNone,    ///< all together, after the backward pass
  kBucket,  ///< bucket by bucket, as their gradients become ready
};

/// Tensors are taken in order; a bucket is closed when it holds at least its limit, which is
/// `first` for the first one and `rest` for all others: PyTorch DDP's rule
/// (compute_bucket_assignment_by_size), whose defaults these are. DDP orders them by when they
/// became ready in the first iteration; before that, in reverse of the model's order.
struct BucketLimits {
  enum class Order { kReady, kReverse };
  std::size_t first = std::size_t{1} << 20;  ///< bytes of FP32
  std::size_t rest = std::size_t{25} << 20;
  Order order = Order::kReady;
  bool operator==(const BucketLimits&) const = default;

  /// `first=1mib,rest=25mib,order=ready`, any of them left out; `ddp` is all defaults.
  /// @throws InputError
  static BucketLimits parse(const std::string& text);
  std::string to_string() const;
};

struct Feed {
  Granularity granularity = Granularity::kTensor;
  std::size_t min_elements = 0;  ///< smaller tensors go uncompressed
  Overlap overlap = Overlap::kNone;
  /// Codecs work while the backward pass goes on. Else it waits for them, as for a hook that is
  /// called in its thread. Only with overlap.
  bool codec_beside = false;
  BucketLimits limits;
  /// Every rank adds up so many gradients before the sum is compressed and exchanged (FedAvg;
  /// SBC fig. 2a).
  std::uint64_t local_steps = 1;
  /// Every rank's second optimiser, on what was exchanged.
  std::optional<OuterOptions> outer;
  double epoch = 0;  ///< of training, where a warm-up schedule asks for it (DGC section 4.1)
  bool operator==(const Feed&) const = default;

  bool is_default() const { return *this == Feed(); }
  /// Settings other than the default, canonical: `granularity=bucket;overlap=bucket`; "" for none.
  std::string to_string() const;
};

const char* to_string(Granularity granularity);
const char* to_string(Overlap overlap);
/// @throws InputError
Granularity parse_granularity(const std::string& text);
Overlap parse_overlap(const std::string& text);

}  // namespace thinpipe
