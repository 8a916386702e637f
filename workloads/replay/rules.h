// Which compressor each tensor gets: one for all, or by the tensors' names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compressors/spec.h"

namespace thinpipe {

/// What tensors get that no rule names, or that are too small to compress.
inline const Spec kUncompressed{.name = "none", .values = {}};

/// `conv*:none;fc*:topk:ratio=0.001`: parts joined by `;`, each a pattern of names (`*` any
/// letters,
/// `?` one, `[a-c]` one of them, as a shell has them), a colon and a spec. The first part whose
/// pattern matches decides; tensors that none matches go uncompressed. A plain spec is for all
/// tensors. A single part with a name in full ends in a `;`.
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

}  // namespace thinpipe
