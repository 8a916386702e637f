// The grammar of compressor specs: `name:key=value,key=value`. `|` separates alternatives.
//
// Example:
//
//   std::string canonical(const std::string& specs) {  // "topk:ratio=0.1|0.01"
//     std::string text;
//     for (const thinpipe::Spec& spec : thinpipe::expand_specs(specs))
//       text += spec.to_string() + "\n";
//     return text;  // "topk:ratio=0.1\ntopk:ratio=0.01\n"
//   }
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

/// A parsed spec, such as `sidco:dist=exp,ratio=0.001`. Keys are unique and sorted, so that their
/// order in the parsed text does not matter. Values stay as written; see Parameters::normal().
struct Spec {
  std::string name;
  std::map<std::string, std::string> values;

  /// Returns `name` or `name:key=value,...` with keys in alphabetical order.
  std::string to_string() const;
  bool operator==(const Spec&) const = default;
};

/// Parses one spec without alternatives. A value may be a spec in parentheses:
/// `ps:pull=(topk:ratio=0.1)`; parentheses do not nest. Only the grammar is checked; the registry
/// checks names and keys (make_compressor, check_spec).
/// @throws InputError naming the problem and the expected form.
Spec parse_spec(std::string_view text);

/// Parses a value that is itself a spec: `(topk:ratio=0.1)`, or a name alone.
/// @throws InputError as parse_spec.
Spec spec_of_value(std::string_view value);

/// Expands `topk:ratio=0.1|0.01` into the cross product of all alternatives. The alternatives of
/// the text's last key vary fastest.
/// @throws InputError as parse_spec, and for more than kMaxAlternatives specs (base/text.h).
std::vector<Spec> expand_specs(std::string_view text);

}  // namespace thinpipe
