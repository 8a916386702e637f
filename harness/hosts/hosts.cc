#include "harness/hosts/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/input_file.h"
#include "base/text.h"

namespace thinpipe {
namespace {

// Limits of Slurm's node lists.
constexpr std::size_t kMaxNodes = 65536;  // a list that expands to more is a mistake
constexpr std::uint32_t kLargestNumber = 999'999'999;
constexpr std::size_t kLongestNumber = 9;  // digits

// Returns true for a DNS name, an IPv4 or an IPv6 address, with or without `user@`: names that ssh
// accepts and that have no special meaning in a shell.
bool is_host_name(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':' || c == '@';
         });
}

bool is_slots(const std::string& word) {
  for (const std::string key : {"slots=", "max_slots=", "max-slots="})
    if (word.starts_with(key)) {
      const std::string number = word.substr(key.size());
      return !number.empty() && number.size() < 7 && number != "0" &&
             number.find_first_not_of("0123456789") == std::string::npos;
    }
  return false;
}

[[noreturn]] void refuse_list(std::string_view text, const std::string& what) {
  throw InputError(fmt::format("Slurm's node list {}: {}", in_quotes(text), what));
}

[[noreturn]] void too_many(std::string_view text) {
  refuse_list(text, fmt::format("more than {} nodes", kMaxNodes));
}

// Expands the text between two brackets: `01-03,7`. Leading zeros set the width.
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
      refuse_list(whole, fmt::format("{} is not a range of numbers", in_quotes(part)));
    if (*high - *low >= kMaxNodes - numbers.size()) too_many(whole);
    for (std::uint32_t value = *low; value <= *high; ++value)
      numbers.push_back(fmt::format("{:0{}}", value, first.size()));
    at = comma + 1;
  }
  return numbers;
}

// Expands one entry with all its brackets.
std::vector<std::string> expand_entry(std::string_view whole, std::string_view entry) {
  std::vector<std::string> names = {""};
  const auto append = [&](const std::vector<std::string>& endings) {
    if (names.size() * endings.size() > kMaxNodes) too_many(whole);
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
    if (close == std::string_view::npos) refuse_list(whole, "a '[' without a ']'");
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

std::vector<std::string> read_hostfile(const std::filesystem::path& file) {
  constexpr std::uint64_t kMaxBytes = 1 << 20;  // 4000 machines of the longest names there are
  std::istringstream stream(read_input(file, "a hostfile", kMaxBytes));
  std::vector<std::string> hosts;
  std::map<std::string, int> line_of;
  std::string text;
  for (int line = 1; std::getline(stream, text); ++line) {
    const auto complain = [&](const std::string& what) {
      throw InputError(fmt::format("{}:{}: {}", file.string(), line, what));
    };
    std::istringstream words(text.substr(0, text.find('#')));
    std::string name, word;
    if (!(words >> name)) continue;
    if (!is_host_name(name)) complain(fmt::format("'{}' is not the name of a machine", name));
    while (words >> word)
      if (!is_slots(word))
        complain(fmt::format("'{}' after '{}': expected slots=N or max_slots=N", word, name));
    const auto [first, is_new] = line_of.try_emplace(name, line);
    if (!is_new)
      complain(
          fmt::format("'{}' is already in line {}; a machine gets one rank", name, first->second));
    hosts.push_back(name);
  }
  if (hosts.empty())
    throw InputError(fmt::format("{}: names no machine; expected one on each line", file.string()));
  return hosts;
}

std::vector<std::string> expand_node_list(std::string_view text) {
  std::vector<std::string> nodes;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] == '[' && ++depth > 1) refuse_list(text, "a '[' within a '['");
    if (at < text.size() && text[at] == ']' && --depth < 0)
      refuse_list(text, "a ']' without a '['");
    if (at < text.size() && (text[at] != ',' || depth > 0)) continue;
    if (depth > 0) refuse_list(text, "a '[' without a ']'");
    if (at == begin) refuse_list(text, "an empty name");
    for (std::string& node : expand_entry(text, text.substr(begin, at - begin)))
      nodes.push_back(std::move(node));
    if (nodes.size() > kMaxNodes) too_many(text);
    begin = at + 1;
  }
  return nodes;
}

std::vector<std::string> slurm_nodes() {
  const char* list = environment("SLURM_JOB_NODELIST");
  if (list == nullptr) list = environment("SLURM_NODELIST");
  if (environment("SLURM_JOB_ID") == nullptr || list == nullptr)
    throw InputError(
        "--hosts slurm: this process is in no Slurm allocation (SLURM_JOB_ID and "
        "SLURM_JOB_NODELIST are not set); start it in one (salloc, sbatch), or name a hostfile");
  // mpirun of each task would wait for CPUs that the tasks themselves have.
  if (const char* tasks = environment("SLURM_STEP_NUM_TASKS");
      tasks != nullptr && tasks != std::string_view("1"))
    throw InputError(fmt::format(
        "--hosts slurm: srun started this process as one of {} tasks; start thinpipe once, by "
        "salloc or sbatch without srun, or by `srun -N 1 -n 1`",
        excerpt(tasks)));
  std::vector<std::string> nodes = expand_node_list(list);
  const char* count = environment("SLURM_JOB_NUM_NODES");
  if (count != nullptr && std::to_string(nodes.size()) != count)
    throw InputError(fmt::format(
        "--hosts slurm: SLURM_JOB_NODELIST={} names {} nodes, but SLURM_JOB_NUM_NODES={}",
        excerpt(list), nodes.size(), excerpt(count)));
  return nodes;
}

}  // namespace thinpipe
