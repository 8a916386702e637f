// Mutates command lines for libFuzzer. New words come from the tables of verbs, methods,
// collectives, links and topologies, so that new entries are fuzzed from their first day. Values
// are changed token by token. The bytes have the format that tests/fuzz/command_line.cc reads.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "compressors/registry.h"
#include "harness/commands/verbs.h"
#include "netem/link/link_keys.h"
#include "netem/link/link_spec.h"
#include "netem/topology/spec.h"
#include "workloads/collectives/collectives.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed);
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t one_size,
                                                 const std::uint8_t* other, std::size_t other_size,
                                                 std::uint8_t* out, std::size_t most,
                                                 unsigned seed);

namespace thinpipe::fuzz {
namespace {

using Words = std::vector<std::string>;
using Type = OptionInfo::Type;

const Words kFiles = split(
    "@/trace @/damaged @/records @/damaged/records.jsonl @/hosts @/net @/parts @/table.csv "
    "@/mahimahi @/empty @ @/policy.ini @/library.so @/trace/rank-000 none synthetic:elements=10 -",
    ' ');
const Words kNumbers = split(
    "0 1 2 3 4 7 -1 -4 -0 +1 0.5 0.01 1e-9 1e300 1e-300 nan inf -inf 0x10 4294967295 4294967296 "
    "2147483647 2147483648 -2147483648 9223372036854775807 18446744073709551616 "
    "99999999999999999999 1000 1e6 .5 5.",
    ' ');
const Words kUnits = {"",  "s",  "ms", "us",  "ns",  "bit", "kbit", "mbit", "gbit", "%",
                      "x", "kb", "mb", "kib", "mib", "gib", "k",    "m",    "g",    "bdp"};
const Words kSeparators = {":", ",", "=", "|", ";", "/", "-", "(", ")", ".", "*", "?", "[", "]"};
const Words kStrange = {"\x1b[31m", "\n",   "\x7f", "\xc2\x9b", "\xe2\x80\xae",
                        "\xff",     "%s%n", "'",    "\"",       "\\",
                        "{}",       " ",    "../",  "$(x)",     "\xf0\x9f\x98\x80"};

// Values of which no table has an example.
const std::map<std::string, Words> kTexts = {
    {"schedule", words_in(R"(
        none steps:0s=100%,100ms=50%,repeat=200ms ramp:0s=10%,5s=100%,of=delay
        sine:low=20%,high=100%,period=10s,shift=1s sine:low=1ms,high=9ms,period=3s,of=delay
        walk:low=10%,high=100%,every=100ms,step=10%,seed=1,lasts=600s steps:0s=0%,of=loss
        outage:first=5s,lasts=1s host1:outage:every=10s,lasts=1s host0-2:steps:0s=20%
        host1.up:sine:low=1mbit,high=2mbit,period=1s rack0:outage:every=4s,lasts=500ms
        site0-site2:ramp:0s=1mbit,1s=2mbit trunks:steps:0s=50% hosts:steps:0s=1mbit
        mahimahi:file=@/mahimahi,bin=50ms csv:file=@/table.csv,shape=ramp,repeat=9s @/parts
        @/table.csv up:mahimahi:file=@/mahimahi;down:steps:0s=10%)")},
    {"straggler",
     {"none", "host1:compute=2,chance=0.5", "hosts:jitter=0.2,dist=exponential",
      "host0-1:stall=1s,seed=3", "hosts:jitter=0.5,dist=uniform;host2:compute=3"}},
    {"buckets", {"ddp", "first=1mb,rest=25mb,order=reverse", "first=0,rest=1kib"}},
    {"outer", {"none", "diloco", "momentum=0.9,rate=0.7"}},
    {"ranks", {"1", "2|4", "0-1", "0,2-3"}},
    {"time-scale", {"auto", "1|2", "0.5", "1000"}},
    {"hosts", {"@/hosts", "slurm"}},
    {"shard", {"1/4", "2/2"}},
    {"message-time", {"measured", "20us"}},
    {"on", {"host0", "host1"}},
    {"serve", {"host1:sleep 1"}},
    {"trace",
     {"@/trace", "synthetic:elements=10", "synthetic:model=lenet5,workers=2,steps=3",
      "synthetic:elements=1k,dist=gpareto,shape=0.2,rho_step=0.5,rho_worker=0.2,seed=3",
      "synthetic:dist=fit,trace=@/trace", "@/damaged"}}};

/// Chance, as libFuzzer's seed has it.
class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }
  bool once_in(std::size_t count) { return below(count) == 0; }
  template <class List>
  auto& of(List&& list) {
    return list[below(list.size())];
  }

 private:
  std::minstd_rand random_;
};

// As a shell takes an example apart, which has no quotes within quotes.
Words shell_words(const std::string& line) {
  Words words(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  std::erase(words, "");
  return words;
}

// Values that the tables show of each option: in defaults, choices, help and examples.
std::map<std::string, Words> known_values() {
  std::map<std::string, Words> known = kTexts;
  std::vector<Verb> all = verbs();
  all.push_back(command_verb());
  for (const Verb& verb : all) {
    for (const OptionInfo& option : verb.options) {
      Words& values = known[option.name];
      if (!option.default_value.empty()) values.push_back(option.default_value);
      for (const Words* list : {&option.choices, &option.suggestions})
        values.insert(values.end(), list->begin(), list->end());
      for (std::string word : split(option.help, ' ')) {
        while (!word.empty() && std::strchr("',;.()", word.back())) word.pop_back();
        while (!word.empty() && std::strchr("'(", word.front())) word.erase(0, 1);
        if (word.find_first_of("=|:/0123456789") != std::string::npos) values.push_back(word);
      }
    }
    for (const Example& example : verb.examples) {
      const Words words = shell_words(example.command);
      for (std::size_t i = 0; i + 1 < words.size(); ++i)
        if (words[i].starts_with("--")) known[words[i].substr(2)].push_back(words[i + 1]);
    }
  }
  for (auto& [name, values] : known) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }
  return known;
}

std::string number(Dice& dice) {
  const std::string digits =
      dice.once_in(2) ? dice.of(kNumbers) : std::to_string(dice.below(dice.once_in(3) ? 3000 : 12));
  return dice.once_in(2) ? digits : digits + dice.of(kUnits);
}

std::string parameter_value(Dice& dice, const ParameterInfo& parameter) {
  if (dice.once_in(8)) return number(dice);
  if (!parameter.choices.empty()) return dice.of(parameter.choices);
  switch (parameter.type) {
    case ParameterInfo::Type::kFlag:
      return dice.once_in(2) ? "true" : "false";
    case ParameterInfo::Type::kSpec:
      return dice.once_in(3) ? "same" : "(" + dice.of(methods()).name + ")";
    case ParameterInfo::Type::kRealList:
      return dice.once_in(3) ? "none" : number(dice) + "/" + number(dice);
    default:
      return dice.once_in(3)   ? std::to_string(parameter.minimum)
             : dice.once_in(2) ? std::to_string(parameter.maximum)
                               : parameter.default_value;
  }
}

// "name:key=value,...", of a method or a collective.
template <class Info>
std::string spec(Dice& dice, const std::vector<Info>& infos) {
  const Info& info = dice.of(infos);
  std::string text = info.name;
  char before = ':';
  for (const ParameterInfo& parameter : info.parameters) {
    if (!dice.once_in(3)) continue;
    text += before + parameter.name + "=" + parameter_value(dice, parameter);
    if (dice.once_in(8)) text += "|" + parameter_value(dice, parameter);
    before = ',';
  }
  return text;
}

std::string compressor(Dice& dice) {
  if (!dice.once_in(5)) return spec(dice, methods());
  return "tensor-*:" + spec(dice, methods()) + ";*[0-9]:" + spec(dice, methods());
}

// A value as its key's help writes it: "tbf|htb|netem", "P[/CORR]".
std::string link_value(Dice& dice, const std::string& written) {
  const Words choices = split(written, '|');
  const std::string& one = dice.of(choices);
  if (one.find_first_of("[/<") != std::string::npos)
    return dice.once_in(2) ? number(dice) + "/" + number(dice) : number(dice);
  return std::any_of(one.begin(), one.end(), [](char c) { return std::islower(c); }) ? one
                                                                                     : number(dice);
}

std::string link(Dice& dice) {
  std::string text;
  if (dice.once_in(3)) text = dice.of(link_presets()).name;
  if (text.empty() || dice.once_in(2))
    text += (text.empty() ? "rate=" : ",rate=") + number(dice) + "mbit";
  for (std::size_t more = dice.below(4); more > 0; --more) {
    constexpr std::array kWays = {"", "", "up.", "down."};
    if (dice.once_in(4)) {
      const LinkKey& key = dice.of(link_keys());
      text += std::string(",") + key.name + "=" + link_value(dice, key.value);
    } else {
      const DirectionKey& key = dice.of(direction_keys());
      text += std::string(",") + dice.of(kWays) + key.name + "=" + link_value(dice, key.value);
    }
  }
  return text;
}

std::string topology(Dice& dice) {
  if (dice.once_in(6)) return "@/net";
  const TopologyKind& kind = dice.of(topology_kinds());
  std::string text = kind.name;
  char before = ':';
  const auto add = [&](const std::string& item) {
    text += before + item;
    before = ',';
  };
  for (const TopologySetting& setting : kind.values)
    if (dice.once_in(3)) add(std::string(setting.name) + "=" + number(dice));
  for (const TopologySetting& setting : kind.links)
    if (dice.once_in(3)) add(std::string(setting.name) + "=(" + link(dice) + ")");
  const Words names = {"host1", "host0-2", "rack1", "site0-site2", "host" + number(dice)};
  if (dice.once_in(3)) add(dice.of(names) + "=(rate=" + number(dice) + "x)");
  return text;
}

std::string number_of(Dice& dice, const OptionInfo& option) {
  if (dice.once_in(4)) return number(dice);
  const double bound = dice.once_in(2) ? option.minimum : option.maximum;
  return std::to_string(static_cast<long long>(std::clamp(bound, -9e15, 9e15)));
}

std::string value_of(Dice& dice, const OptionInfo& option) {
  static const std::map<std::string, Words> known = known_values();
  static const std::map<std::string, std::string (*)(Dice&)> made = {
      {"compressor", compressor},
      {"link", link},
      {"topology", topology},
      {"collective", [](Dice& d) { return spec(d, collectives()); }}};
  if (const auto found = made.find(option.name); found != made.end() && !dice.once_in(4))
    return found->second(dice);
  const Words& values = known.at(option.name);
  if (!values.empty() && !dice.once_in(6)) return dice.of(values);
  switch (option.type) {
    case Type::kFile:
    case Type::kFolder:
      return dice.of(kFiles);
    case Type::kInteger:
    case Type::kReal:
      return number_of(dice, option);
    default:
      return dice.once_in(2) ? number(dice) : dice.of(kFiles);
  }
}

// Letters, digits with their sign, or one character of anything else.
Words tokens(const std::string& text) {
  const auto kind = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return std::isalpha(byte) || c == '_' ? 1 : std::isdigit(byte) ? 2 : 0;
  };
  Words parts;
  for (const char c : text) {
    if (!parts.empty() && kind(c) != 0 && kind(c) == kind(parts.back().back())) {
      parts.back() += c;
    } else {
      parts.emplace_back(1, c);
    }
  }
  return parts;
}

std::string changed(Dice& dice, const std::string& text) {
  Words parts = tokens(text);
  if (parts.empty()) return number(dice);
  for (std::size_t times = 1 + dice.below(2); times > 0; --times) {
    std::string& part = dice.of(parts);
    switch (dice.below(10)) {
      case 0:
      case 1:
      case 2:
        part = number(dice);
        break;
      case 3:
        part = dice.of(kSeparators);
        break;
      case 4:
        part.clear();
        break;
      case 5:
        part += dice.of(kStrange);
        break;
      case 6:
        part += dice.of(kSeparators) + dice.of(parts);
        break;
      case 7:
        std::swap(part, dice.of(parts));
        break;
      case 8:
        if (dice.once_in(8)) {
          for (std::size_t doubled = dice.below(7); doubled > 0; --doubled) part += part;
        }
        break;
      default:
        part = dice.of(kUnits);
    }
  }
  std::string joined;
  for (const std::string& part : parts) joined += part;
  return joined;
}

void add_option(Dice& dice, const Verb& verb, Words& words) {
  if (verb.options.empty()) return;
  const OptionInfo& option = dice.of(verb.options);
  words.push_back("--" + option.name);
  if (option.type != Type::kFlag) words.push_back(value_of(dice, option));
}

Words new_line(Dice& dice) {
  const Verb& verb = dice.of(verbs());
  if (dice.once_in(4)) {
    Words words = shell_words(dice.of(verb.examples).command);
    words.erase(words.begin());
    return words;
  }
  Words words = split(verb.name, ' ');
  for (const OptionInfo& option : verb.options) {
    if (!option.required) continue;
    words.push_back("--" + option.name);
    words.push_back(value_of(dice, option));
  }
  for (std::size_t more = dice.below(4); more > 0; --more) add_option(dice, verb, words);
  for (const PositionalInfo& info : verb.positionals) {
    if (!info.required && dice.once_in(2)) continue;
    if (info.name == "COMMAND") words.insert(words.end(), {"--", "bench"});
    words.push_back(!info.suggestions.empty() && !dice.once_in(4) ? dice.of(info.suggestions)
                                                                  : dice.of(kFiles));
  }
  return words;
}

const Verb& verb_of(const Words& words) {
  for (const Verb& verb : verbs()) {
    const Words names = split(verb.name, ' ');
    if (words.size() >= names.size() && std::equal(names.begin(), names.end(), words.begin()))
      return verb;
  }
  return command_verb();
}

// With libFuzzer's own means, of one word.
std::string mutated(const std::string& word) {
  constexpr std::size_t kMore = 64;
  std::vector<std::uint8_t> bytes(word.begin(), word.end());
  bytes.resize(word.size() + kMore);
  bytes.resize(LLVMFuzzerMutate(bytes.data(), word.size(), bytes.size()));
  return {bytes.begin(), bytes.end()};
}

void change_words(Dice& dice, Words& words) {
  std::string& word = dice.of(words);
  switch (dice.below(10)) {
    case 0:
      words = new_line(dice);
      break;
    case 1:
    case 2:
    case 3:
      add_option(dice, verb_of(words), words);
      break;
    case 4:
      words.erase(words.begin() + (&word - words.data()));
      break;
    case 5:
      word = mutated(word);
      break;
    case 6:
      words.push_back(word);
      break;
    default:
      // The verb's own words less often.
      if (&word - words.data() > 1 || dice.once_in(8)) word = changed(dice, word);
  }
}

Words words_of(const std::uint8_t* data, std::size_t size) {
  Words words = split(std::string_view(reinterpret_cast<const char*>(data), size), '\0');
  if (words.back().empty()) words.pop_back();
  return words;
}

std::size_t put(const Words& words, std::uint8_t* data, std::size_t most) {
  std::string bytes;
  for (const std::string& word : words) bytes += word + '\0';
  const std::size_t size = std::min(bytes.size(), most);
  std::memcpy(data, bytes.data(), size);
  return size;
}

}  // namespace
}  // namespace thinpipe::fuzz

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                    unsigned seed) {
  using namespace thinpipe::fuzz;
  Dice dice(seed);
  Words words = words_of(data, size);
  if (words.empty()) words = new_line(dice);
  for (std::size_t times = 1 + dice.below(3); times > 0 && !words.empty(); --times)
    change_words(dice, words);
  return put(words, data, most);
}

// Words of another command line behind those of one.
std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t one_size,
                                      const std::uint8_t* other, std::size_t other_size,
                                      std::uint8_t* out, std::size_t most, unsigned seed) {
  using namespace thinpipe::fuzz;
  Dice dice(seed);
  Words words = words_of(one, one_size);
  const Words more = words_of(other, other_size);
  const std::size_t first = dice.below(more.size());
  const std::size_t last = first + dice.below(more.size() - first + 1);
  words.insert(words.end(), more.begin() + static_cast<std::ptrdiff_t>(first),
               more.begin() + static_cast<std::ptrdiff_t>(last));
  return put(words, out, most);
}
