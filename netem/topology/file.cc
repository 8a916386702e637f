// The file of a topology: a statement a line (or up to a `;`), `#` begins a comment.
//   switch NAME [hosts=N]       a switch and how many hosts hang on it
//   link NAME NAME [LINK]       between two switches; up is from the first to the second
//   hosts LINK                  every host's link
//   hostI LINK, hostI-J LINK    what differs for those hosts
#include <algorithm>
#include <iterator>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/input_file.h"
#include "base/numbers.h"
#include "base/text.h"
#include "netem/topology/spec.h"

namespace thinpipe {

namespace {

constexpr int kMostSwitches = 128;
constexpr std::size_t kLongestName = 32;
constexpr std::uint64_t kLargestTopology = 1 << 20;  // 128 switches and 1000 hosts take a tenth

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// No hyphen, which joins two names to that of a link.
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
      throw InputError(source + ": no switch in it (such as `switch paris hosts=2`)");
    if (spec_.fixed_hosts() == 0)
      throw InputError(source + ": no switch has hosts (such as `switch paris hosts=2`)");
    if (spec_.fixed_hosts() > kMostHosts)
      throw InputError(fmt::format("{}: {} hosts; at most {} are possible", source,
                                   spec_.fixed_hosts(), kMostHosts));
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
          "expected NAME and perhaps hosts=N, found '{}'; a name has letters, digits, _ and .",
          fmt::join(words.begin() + 1, words.end(), " ")));
    if (known(words[1])) throw InputError(fmt::format("{} is there already", in_quotes(words[1])));
    if (spec_.switches.size() == kMostSwitches)
      throw InputError(fmt::format("more than {} switches", kMostSwitches));
    TopologySpec::FileSwitch one{words[1], 0};
    if (words.size() == 3) {
      const std::string& text = words[2];
      const auto hosts = parse_number<int>(
          std::string_view(text).substr(std::min(kHosts.size(), text.size())), 0, kMostHosts);
      if (!text.starts_with(kHosts) || !hosts)
        throw InputError(fmt::format("expected hosts=N with N from 0 to {}, found {}", kMostHosts,
                                     in_quotes(text)));
      one.hosts = *hosts;
    }
    spec_.switches.push_back(one);
  }

  void read_link(const std::vector<std::string>& words) {
    if (words.size() < 3 || words.size() > 4)
      throw InputError("expected two switches and perhaps a link such as rate=100mbit,delay=5ms");
    for (const std::string& name : {words[1], words[2]})
      if (!known(name))
        throw InputError(fmt::format("no switch {} before this line", in_quotes(name)));
    if (words[1] == words[2]) throw InputError("it joins a switch to itself");
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
      throw InputError("it is given twice");
  }

  bool known(const std::string& name) const {
    return std::any_of(spec_.switches.begin(), spec_.switches.end(),
                       [&](const auto& one) { return one.name == name; });
  }

  TopologySpec spec_;
};

}  // namespace

TopologySpec parse_topology_statements(std::string_view text, const std::string& source) {
  return FileReader().read(text, source);
}

TopologySpec read_topology_file(const std::filesystem::path& file) {
  return parse_topology_statements(read_input(file, "the file of a topology", kLargestTopology),
                                   file.string());
}

}  // namespace thinpipe
