// Parses topologies from flags and files, and prints their canonical text.
#include "netem/topology/spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <tuple>

#include "base/error.h"
#include "base/input_file.h"
#include "base/key_values.h"
#include "base/text.h"
#include "base/units.h"
#include "netem/link/link_keys.h"

namespace thinpipe {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs split_pairs(std::string_view text) {
  Pairs pairs;
  if (text == kUnthrottled) return pairs;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    pairs.emplace_back(part.substr(0, equals),
                       equals == std::string::npos ? "" : part.substr(equals + 1));
  }
  return pairs;
}

bool is_rate(std::string_view key) {
  return key == "rate" || key == "up.rate" || key == "down.rate";
}

bool is_directed(std::string_view key) {
  return key.starts_with("up.") || key.starts_with("down.");
}

bool is_multiple(const std::string& key, const std::string& value) {
  return is_rate(key) && value.size() > 1 && value.back() == 'x';
}

double multiple(const std::string& key, const std::string& value) {
  const auto factor = parse_number_with<double>("x", value, 0);
  if (!factor || *factor == 0)
    throw InputError(fmt::format(
        "link: {}={} is neither a rate (such as 10mbit) nor a multiple of the link (such as 0.1x)",
        key, excerpt(value)));
  return *factor;
}

std::string rate_text(double rate) {
  constexpr std::string_view kKey = "rate=";
  return parse_link_spec(fmt::format("{}{}bit", kKey, rate)).to_string().substr(kKey.size());
}

std::string join(const Pairs& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs)
    text += (text.empty() ? "" : ",") + key + (value.empty() ? "" : "=" + value);
  return text;
}

// Parses the value, which throws if invalid. Returns false for an unknown key or an empty value.
bool check_value(std::string_view key, const std::string& value) {
  if (value.empty()) return false;
  LinkSpec scratch;
  for (const LinkKey& known : link_keys())
    if (key == known.name) return known.read(scratch, value), true;
  for (const std::string_view prefix : {"up.", "down."})
    if (key.starts_with(prefix)) key.remove_prefix(prefix.size());
  for (const DirectionKey& known : direction_keys())
    if (key == known.name) return known.read(scratch.down, value), true;
  return false;
}

void replace(Pairs& pairs, const std::string& key, const std::string& value) {
  std::erase_if(pairs, [&](const auto& pair) {
    return pair.first == key || pair.first == "up." + key || pair.first == "down." + key;
  });
  pairs.emplace_back(key, value);
}

void replace_by_multiple(Pairs& pairs, const std::string& key, double factor,
                         const LinkSpec& reference) {
  const Pairs known = split_pairs(reference.to_string());
  Pairs scaled;
  for (const auto& [name, value] : known)
    if (is_rate(name) && (name == key || key == "rate"))
      scaled.emplace_back(name, rate_text(parse_rate(value) * factor));
  if (scaled.empty())  // up.rate=2x of a link with one rate for both directions
    for (const auto& [name, value] : known)
      if (name == "rate") scaled.emplace_back(key, rate_text(parse_rate(value) * factor));
  if (scaled.empty())
    throw InputError(fmt::format("link: {}={}x is a multiple of link {}, which has no rate", key,
                                 factor, reference.to_string()));
  for (const auto& [name, value] : scaled) replace(pairs, name, value);
}

bool among(const std::vector<TopologySetting>& settings, const std::string& name) {
  return std::any_of(settings.begin(), settings.end(),
                     [&](const TopologySetting& setting) { return name == setting.name; });
}

// Returns true if this may be the name of a link that differs from the others: `host`, `rack` or
// `site` with a number. Racks are only in the kind racks, sites only in wan.
bool may_be_link(const TopologyKind& kind, std::string_view name) {
  for (const std::string_view prefix : {"host", "rack", "site"})
    if (name.starts_with(prefix) && name.size() > prefix.size() && name[prefix.size()] >= '0' &&
        name[prefix.size()] <= '9')
      return prefix == "host" ||
             std::string_view(kind.name) == (prefix == "rack" ? "racks" : "wan");
  return false;
}

[[noreturn]] void refuse_setting(const KeyValues& items, const TopologyKind& kind,
                                 const std::string& key) {
  std::vector<std::string> known;
  for (const auto* settings : {&kind.values, &kind.links})
    for (const TopologySetting& setting : *settings) known.emplace_back(setting.name);
  const std::string hint = did_you_mean(key, known);
  known.emplace_back("host0, host1, ...");
  items.fail(fmt::format("unknown setting {} (known: {}){}", in_quotes(key), fmt::join(known, ", "),
                         hint));
}

TopologySpec parse_kind(const TopologyKind& kind, std::string_view text) {
  const KeyValues items = KeyValues::after_name("topology", text);
  if (!split_outside(text, ',')) items.fail("the parentheses do not match");
  TopologySpec spec;
  spec.kind = kind.name;
  for (const auto& [key, value] : items.left()) {
    if (among(kind.values, key))
      spec.values[key] = value;
    else if (among(kind.links, key))
      spec.links[key] = items.read(key, value, LinkChange::parse);
    else if (may_be_link(kind, key))
      spec.exceptions.emplace_back(key, items.read(key, value, LinkChange::parse));
    else
      refuse_setting(items, kind, key);
  }
  try {
    kind.check(spec);
  } catch (const InputError& error) {
    items.fail(error.what());
  }
  return spec;
}

std::string file_text(const TopologySpec& spec) {
  std::vector<std::string> statements;
  for (const TopologySpec::FileSwitch& one : spec.switches)
    statements.push_back(one.hosts > 0 ? fmt::format("switch {} hosts={}", one.name, one.hosts)
                                       : "switch " + one.name);
  for (const TopologySpec::FileTrunk& trunk : spec.trunks)
    statements.push_back(fmt::format("link {} {}{}{}", trunk.a, trunk.b,
                                     trunk.link.empty() ? "" : " ", trunk.link.to_string()));
  for (const auto& [name, link] : spec.links)
    statements.push_back(fmt::format("{} {}", name, link.to_string()));
  for (const auto& [name, link] : spec.exceptions)
    statements.push_back(fmt::format("{} {}", name, link.to_string()));
  return fmt::format("{}", fmt::join(statements, "; "));
}

// A topology's file has a statement per line (or up to a `;`). `#` begins a comment.
//   switch NAME [hosts=N]       a switch and its number of hosts
//   link NAME NAME [LINK]       between two switches; the uplink is from the first to the second
//   hosts LINK                  every host's link
//   hostI LINK, hostI-J LINK    differences for these hosts

constexpr int kMaxSwitches = 128;
constexpr std::size_t kLongestName = 32;
constexpr std::uint64_t kLargestTopology = 1 << 20;  // 128 switches and 1000 hosts take a tenth

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Names have no hyphen, since a link's name is two names joined by a hyphen.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '.'; });
}

bool is_host(std::string_view word) {
  return word.starts_with("host") && word.size() > 4 && is_digit(word[4]);
}

std::vector<std::string> words_of(const std::string& statement) {
  std::istringstream stream(statement);
  return {std::istream_iterator<std::string>(stream), {}};
}

class FileReader {
 public:
  TopologySpec read(std::string_view text, const std::string& source) {
    spec_.kind = "file";
    int line_number = 0;
    for (std::string line : split(text, '\n')) {
      ++line_number;
      line = line.substr(0, line.find('#'));
      for (const std::string& statement : split(line, ';')) {
        const std::vector<std::string> words = words_of(statement);
        try {
          if (!words.empty()) read_statement(words);
        } catch (const InputError& error) {
          throw InputError(
              fmt::format("{}:{}: {}: {}", source, line_number, words[0], error.what()));
        }
      }
    }
    if (spec_.switches.empty())
      throw InputError(source + ": has no switch (such as `switch paris hosts=2`)");
    if (spec_.fixed_hosts() == 0)
      throw InputError(source + ": no switch has hosts (such as `switch paris hosts=2`)");
    if (spec_.fixed_hosts() > kMaxHosts)
      throw InputError(
          fmt::format("{}: {} hosts (limit {})", source, spec_.fixed_hosts(), kMaxHosts));
    return spec_;
  }

 private:
  void read_statement(const std::vector<std::string>& words) {
    if (words[0] == "switch")
      read_switch(words);
    else if (words[0] == "link")
      read_link(words);
    else if (words[0] == "hosts" || is_host(words[0]))
      read_hosts(words);
    else
      throw InputError("unknown statement (known: switch, link, hosts, host0, host1, ...)" +
                       did_you_mean(words[0], {"switch", "link", "hosts"}));
  }

  void read_switch(const std::vector<std::string>& words) {
    constexpr std::string_view kHosts = "hosts=";
    if (words.size() < 2 || words.size() > 3 || !is_name(words[1]) || is_host(words[1]))
      throw InputError(fmt::format(
          "expected NAME and optionally hosts=N, found '{}'; a name has letters, digits, _ and .",
          fmt::join(words.begin() + 1, words.end(), " ")));
    if (known(words[1]))
      throw InputError(fmt::format("{} is defined already", in_quotes(words[1])));
    if (spec_.switches.size() == kMaxSwitches)
      throw InputError(fmt::format("more than {} switches", kMaxSwitches));
    TopologySpec::FileSwitch one{words[1], 0};
    if (words.size() == 3) {
      const std::string& text = words[2];
      const auto hosts = parse_number<int>(
          std::string_view(text).substr(std::min(kHosts.size(), text.size())), 0, kMaxHosts);
      if (!text.starts_with(kHosts) || !hosts)
        throw InputError(fmt::format("expected hosts=N with N from 0 to {}, found {}", kMaxHosts,
                                     in_quotes(text)));
      one.hosts = *hosts;
    }
    spec_.switches.push_back(one);
  }

  void read_link(const std::vector<std::string>& words) {
    if (words.size() < 3 || words.size() > 4)
      throw InputError("expected two switches and an optional link (rate=100mbit,delay=5ms)");
    for (const std::string& name : {words[1], words[2]})
      if (!known(name))
        throw InputError(fmt::format("no switch {} before this line", in_quotes(name)));
    if (words[1] == words[2]) throw InputError("the link joins a switch to itself");
    for (const TopologySpec::FileTrunk& trunk : spec_.trunks)
      if ((trunk.a == words[1] && trunk.b == words[2]) ||
          (trunk.a == words[2] && trunk.b == words[1]))
        throw InputError(fmt::format("{} and {} are joined already", words[1], words[2]));
    spec_.trunks.push_back(
        {words[1], words[2], words.size() == 4 ? LinkChange::parse(words[3]) : LinkChange{}});
  }

  void read_hosts(const std::vector<std::string>& words) {
    if (words.size() != 2) throw InputError("expected a link such as rate=100mbit,delay=5ms");
    if (words[0] != "hosts")
      spec_.exceptions.emplace_back(words[0], LinkChange::parse(words[1]));
    else if (!spec_.links.try_emplace("hosts", LinkChange::parse(words[1])).second)
      throw InputError("hosts is given twice");
  }

  bool known(const std::string& name) const {
    return std::any_of(spec_.switches.begin(), spec_.switches.end(),
                       [&](const auto& one) { return one.name == name; });
  }

  TopologySpec spec_;
};

}  // namespace

LinkChange LinkChange::parse(std::string_view text) {
  if (text.size() >= 2 && text.front() == '(' && text.back() == ')')
    text = text.substr(1, text.size() - 2);
  if (text.empty()) throw InputError("expected a link such as (rate=10mbit), found nothing");
  if (text.find('|') != std::string_view::npos)
    throw InputError(fmt::format(
        "link {}: only --link has alternatives (|); a topology has one value", in_quotes(text)));
  LinkChange change;
  if (text == kUnthrottled) {
    change.pairs_.emplace_back(kUnthrottled, "");
    return change;
  }
  change.pairs_ = split_pairs(text);
  // Each key is checked separately here, so that errors name the text. Keys are not checked in
  // combination: a key that another key needs may be in the link to which this change is applied.
  std::set<std::string> seen;
  for (const auto& [key, value] : change.pairs_) {
    if (!seen.insert(key).second)
      throw InputError(fmt::format("link {}: {} is given twice", in_quotes(text), key));
    if (is_multiple(key, value))
      multiple(key, value);
    else if (!check_value(key, value))
      parse_link_spec(join({{key, value}}));  // accepts a preset's name, or throws
  }
  return change;
}

LinkSpec LinkChange::applied_to(const LinkSpec& base, const LinkSpec& reference) const {
  if (pairs_.empty()) return base;
  // A key without a value is a preset's name or `unthrottled`, which replaces the base.
  const std::string& first = pairs_.front().first;
  Pairs result = pairs_.front().second.empty() ? Pairs{} : split_pairs(base.to_string());
  // As in parse_link_spec(), a key with a prefix overrides the key without it, in any order.
  for (const bool directed : {false, true})
    for (const auto& [key, value] : pairs_) {
      if (is_directed(key) != directed || (key == kUnthrottled && key == first)) continue;
      if (is_multiple(key, value))
        replace_by_multiple(result, key, multiple(key, value), reference);
      else
        replace(result, key, value);
    }
  return result.empty() ? LinkSpec{} : parse_link_spec(join(result));
}

std::string LinkChange::to_string() const {
  Pairs sorted = pairs_;
  // A name, which has no value, stays in front. The rates follow.
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tuple(!a.second.empty(), !is_rate(a.first), a.first) <
           std::tuple(!b.second.empty(), !is_rate(b.first), b.first);
  });
  for (auto& [key, value] : sorted)
    if (is_rate(key) && !value.empty() && !is_multiple(key, value))
      value = rate_text(parse_rate(value));
  return join(sorted);
}

std::string TopologySpec::to_string() const {
  if (!switches.empty()) return file_text(*this);
  std::vector<std::string> settings;
  for (const auto& [key, value] : values) settings.push_back(key + "=" + value);
  for (const auto& [key, link] : links)
    settings.push_back(fmt::format("{}=({})", key, link.to_string()));
  for (const auto& [key, link] : exceptions)
    settings.push_back(fmt::format("{}=({})", key, link.to_string()));
  return fmt::format("{}{}{}", kind, settings.empty() ? "" : ":", fmt::join(settings, ","));
}

TopologySpec parse_topology(std::string_view text) {
  const std::string name(text.substr(0, text.find(':')));
  if (const TopologyKind* kind = find_topology_kind(name)) return parse_kind(*kind, text);
  if (text.starts_with("switch ")) return FileReader().read(text, "topology");
  std::error_code error;  // such as a text too long for a file name
  if (std::filesystem::exists(text, error))
    return FileReader().read(read_input(text, "the file of a topology", kLargestTopology),
                             std::string(text));
  std::vector<std::string> known;
  for (const TopologyKind& kind : topology_kinds()) known.emplace_back(kind.name);
  throw InputError(fmt::format("topology {}: neither a file nor one of {}{}", in_quotes(text),
                               fmt::join(known, ", "), did_you_mean(name, known)));
}

}  // namespace thinpipe
