// Typed access to what the parser of arguments found.
#include "harness/options/arguments.h"

#include <cstdlib>
#include <functional>
#include <stdexcept>

#include "base/numbers.h"
#include "base/text.h"

namespace thinpipe {

using Type = OptionInfo::Type;

const Arguments::Entry& Arguments::entry(std::string_view name, bool positional) const {
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second.positional != positional) {
    throw std::logic_error("verb '" + verb_->name + "' has no argument '" + std::string(name) +
                           "'");
  }
  return found->second;
}

const std::string& Arguments::single(const Entry& entry) const {
  static const std::string kNone;
  if (entry.repeatable) throw std::logic_error("a repeatable argument was read as a single one");
  return entry.values.empty() ? kNone : entry.values.front();
}

bool Arguments::given(std::string_view name) const {
  const auto found = entries_.find(name);
  return found != entries_.end() ? found->second.given : entry(name, false).given;
}

bool Arguments::flag(std::string_view name) const {
  const Entry& found = entry(name, false);
  if (found.type != Type::kFlag) throw std::logic_error("not a flag: " + std::string(name));
  return found.given;
}

long long Arguments::integer(std::string_view name) const {
  const Entry& found = entry(name, false);
  if (found.type != Type::kInteger) throw std::logic_error("no integer: " + std::string(name));
  return parse_number<long long>(single(found)).value_or(0);  // checked when parsed, or not given
}

double Arguments::real(std::string_view name) const {
  const Entry& found = entry(name, false);
  if (found.type != Type::kReal) throw std::logic_error("no real number: " + std::string(name));
  return parse_number<double>(single(found)).value_or(0);
}

const std::string& Arguments::text(std::string_view name) const {
  const Entry& found = entry(name, false);
  if (found.type == Type::kFlag) throw std::logic_error("a flag: " + std::string(name));
  return single(found);
}

const std::vector<std::string>& Arguments::texts(std::string_view name) const {
  return entry(name, false).values;
}

const std::string& Arguments::positional(std::string_view name) const {
  return single(entry(name, true));
}

const std::vector<std::string>& Arguments::positionals(std::string_view name) const {
  return entry(name, true).values;
}

std::vector<std::string> Arguments::command_line() const {
  std::vector<std::string> line{"thinpipe"};
  for (const std::string& word : split(verb_->name, ' ')) line.push_back(word);
  line.insert(line.end(), words_.begin(), words_.end());
  return line;
}

}  // namespace thinpipe
