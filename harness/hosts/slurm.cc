// The node lists of Slurm (hostfile.h).
#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "harness/hosts/hostfile.h"

namespace thinpipe {

namespace {

constexpr std::size_t kMostNodes = 65536;  // a list that expands to more is a mistake
constexpr std::uint32_t kLargestNumber = 999'999'999;
constexpr std::size_t kLongestNumber = 9;  // digits

[[noreturn]] void complain(std::string_view text, const std::string& what) {
  throw InputError(fmt::format("Slurm's node list {}: {}", in_quotes(text), what));
}

[[noreturn]] void too_many(std::string_view text) {
  complain(text, fmt::format("more than {} nodes", kMostNodes));
}

// What stands between two brackets: `01-03,7`. Leading zeros give the width.
std::vector<std::string> expand_ranges(std::string_view whole, std::string_view inside) {
  std::vector<std::string> numbers;
  for (std::size_t at = 0; at <= inside.size();) {
    const std::size_t comma = std::min(inside.find(',', at), inside.size());
    const std::string_view part = inside.substr(at, comma - at);
    const std::size_t dash = std::min(part.find('-'), part.size());
    const std::string_view first = part.substr(0, dash);
    const auto low = parse_number<std::uint32_t>(first, 0, kLargestNumber);
    const auto high = dash < part.size()
                          ? parse_number<std::uint32_t>(part.substr(dash + 1), 0, kLargestNumber)
                          : low;
    if (!low || !high || *high < *low || first.size() > kLongestNumber)
      complain(whole, fmt::format("{} is not a range of numbers", in_quotes(part)));
    if (*high - *low >= kMostNodes - numbers.size()) too_many(whole);
    for (std::uint32_t value = *low; value <= *high; ++value)
      numbers.push_back(fmt::format("{:0{}}", value, first.size()));
    at = comma + 1;
  }
  return numbers;
}

// One entry, brackets and all.
std::vector<std::string> expand_entry(std::string_view whole, std::string_view entry) {
  std::vector<std::string> names = {""};
  const auto append = [&](const std::vector<std::string>& endings) {
    if (names.size() * endings.size() > kMostNodes) too_many(whole);
    std::vector<std::string> grown;
    for (const std::string& name : names)
      for (const std::string& ending : endings) grown.push_back(name + ending);
    names = std::move(grown);
  };
  while (!entry.empty()) {
    const std::size_t open = std::min(entry.find('['), entry.size());
    if (open > 0) {
      append({std::string(entry.substr(0, open))});
      entry.remove_prefix(open);
      continue;
    }
    const std::size_t close = entry.find(']');
    if (close == std::string_view::npos) complain(whole, "a '[' without a ']'");
    append(expand_ranges(whole, entry.substr(1, close - 1)));
    entry.remove_prefix(close + 1);
  }
  return names;
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

std::vector<std::string> expand_node_list(std::string_view text) {
  std::vector<std::string> nodes;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] == '[' && ++depth > 1) complain(text, "a '[' within a '['");
    if (at < text.size() && text[at] == ']' && --depth < 0) complain(text, "a ']' without a '['");
    if (at < text.size() && (text[at] != ',' || depth > 0)) continue;
    if (depth > 0) complain(text, "a '[' without a ']'");
    if (at == begin) complain(text, "an empty name");
    for (std::string& node : expand_entry(text, text.substr(begin, at - begin)))
      nodes.push_back(std::move(node));
    if (nodes.size() > kMostNodes) too_many(text);
    begin = at + 1;
  }
  return nodes;
}

std::vector<std::string> slurm_nodes() {
  const char* list = environment("SLURM_JOB_NODELIST");
  if (list == nullptr) list = environment("SLURM_NODELIST");
  if (environment("SLURM_JOB_ID") == nullptr || list == nullptr)
    throw InputError(
        "--hosts slurm: this is no Slurm allocation (SLURM_JOB_ID and SLURM_JOB_NODELIST are not "
        "set); run it in one (salloc, sbatch), or name a hostfile");
  std::vector<std::string> nodes = expand_node_list(list);
  const char* count = environment("SLURM_JOB_NUM_NODES");
  if (count != nullptr && std::to_string(nodes.size()) != count)
    throw InputError(fmt::format(
        "--hosts slurm: SLURM_JOB_NODELIST={} names {} nodes, but SLURM_JOB_NUM_NODES={}",
        excerpt(list), nodes.size(), excerpt(count)));
  return nodes;
}

}  // namespace thinpipe
