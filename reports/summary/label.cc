// Short names for compressors.
#include "reports/summary/label.h"

#include <map>
#include <set>

#include "base/text.h"

namespace thinpipe {
namespace {

struct Spec {
  std::string name;
  std::vector<std::string> parameters;  // "key=value", in the spec's order
};

Spec parse(const std::string& text) {
  const std::size_t colon = text.find(':');
  Spec spec{text.substr(0, colon), {}};
  if (colon != std::string::npos) spec.parameters = split(text.substr(colon + 1), ',');
  return spec;
}

// A parameter is worth writing when not every spec of that name has it.
std::string label_of(const Spec& spec, const std::map<std::string, int>& uses, int specs) {
  std::string label = spec.name;
  for (const std::string& parameter : spec.parameters) {
    if (uses.at(parameter) < specs) label += " " + parameter;
  }
  return label;
}

}  // namespace

std::vector<std::string> short_labels(const std::vector<std::string>& specs) {
  std::map<std::string, int> count;
  std::map<std::string, std::map<std::string, int>> uses;
  for (const std::string& text : specs) {
    const Spec spec = parse(text);
    ++count[spec.name];
    const std::set<std::string> distinct(spec.parameters.begin(), spec.parameters.end());
    for (const std::string& parameter : distinct) ++uses[spec.name][parameter];
  }
  std::vector<std::string> labels;
  std::map<std::string, int> taken;
  for (const std::string& text : specs) {
    const Spec spec = parse(text);
    labels.push_back(label_of(spec, uses[spec.name], count[spec.name]));
    ++taken[labels.back()];
  }
  // Two spellings of one label (an odd spec may repeat a key) fall back on the whole specs.
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (taken[labels[i]] > 1) labels[i] = specs[i];
  }
  return labels;
}

}  // namespace thinpipe
