#include "harness/hosts/hostfile.h"

#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "base/error.h"
#include "base/input_file.h"

namespace thinpipe {

namespace {

// A DNS name, an IPv4 or IPv6 address, perhaps `user@`: what ssh takes and no shell misreads.
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
      complain(fmt::format("'{}' stands in line {} already; a machine gets one rank", name,
                           first->second));
    hosts.push_back(name);
  }
  if (hosts.empty())
    throw InputError(
        fmt::format("{}: no machine is named in it; expected one a line", file.string()));
  return hosts;
}

}  // namespace thinpipe
