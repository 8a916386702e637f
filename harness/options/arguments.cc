// Parses a verb's words by Boost.Program_options, with the options of the verb's table.
#include "harness/options/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace thinpipe {
namespace {

namespace po = boost::program_options;
using Type = OptionInfo::Type;

po::options_description describe(const Verb& verb) {
  po::options_description description;
  description.add_options()("help,h", "");
  for (const OptionInfo& option : verb.options) {
    const std::string names =
        option.letter ? option.name + "," + std::string(1, option.letter) : option.name;
    for (const std::string& one : {names, option.old_name})
      if (!one.empty() && option.type == Type::kFlag)
        description.add_options()(one.c_str(), "");
      else if (!one.empty())
        description.add_options()(one.c_str(), po::value<std::string>(), "");
  }
  return description;
}

std::vector<std::string> long_names(const Verb& verb) {
  std::vector<std::string> names{"--help"};
  for (const OptionInfo& option : verb.options) names.push_back("--" + option.name);
  return names;
}

const OptionInfo* find_option(const Verb& verb, const std::string& name) {
  for (const OptionInfo& option : verb.options)
    if (option.name == name || (!name.empty() && option.old_name == name)) return &option;
  return nullptr;
}

// Splits `words` into options. Replaces Boost's error messages by ones that name the value found
// and the value expected.
std::vector<po::option> tokens(const Verb& verb, const std::vector<std::string>& words) {
  // No abbreviations: `--step` for `--steps` would become ambiguous when an option is added.
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  const po::options_description description = describe(verb);
  // Boost reads `--=5` as the argument `5`, and `--=` or `----=` as an option with a missing value.
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::size_t dashes = word.find_first_not_of('-');
    if (dashes != std::string::npos && dashes >= 2 && word[dashes] == '=')
      throw InputError(in_quotes(word) + " names no option");
  }
  try {
    return po::command_line_parser(words).options(description).style(style).run().options;
  } catch (const po::unknown_option& error) {
    const std::string name = error.get_option_name();
    throw InputError("unknown option " + in_quotes(name) + did_you_mean(name, long_names(verb)));
  } catch (const po::invalid_command_line_syntax& error) {
    const std::string name = error.get_option_name();
    if (error.kind() == po::invalid_syntax::extra_parameter)
      throw InputError("option '" + name + "' takes no value");
    const OptionInfo* option = find_option(verb, name.substr(name.find_first_not_of('-')));
    throw InputError("option '" + name + "' needs a value" +
                     (option ? " (" + option->value_name + ")" : ""));
  } catch (const po::error& error) {
    throw InputError(error.what());
  }
}

// Prints an integer without exponent, because the parser refuses 1e+06.
std::string number_text(const OptionInfo& option, double value) {
  return option.type == Type::kInteger ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

std::string expected_number(const OptionInfo& option) {
  std::string text = option.type == Type::kInteger ? "an integer" : "a number";
  const bool low = std::isfinite(option.minimum), high = std::isfinite(option.maximum);
  if (low && high) {
    text += " from " + number_text(option, option.minimum) + " to " +
            number_text(option, option.maximum);
  } else if (low) {
    text += " of at least " + number_text(option, option.minimum);
  } else if (high) {
    text += " of at most " + number_text(option, option.maximum);
  }
  return text;
}

template <typename Number>
bool is_within(const std::string& text, const OptionInfo& option) {
  const auto value = parse_number<Number>(text);
  const auto real = static_cast<double>(value.value_or(Number{}));
  return value && real >= option.minimum && real <= option.maximum;
}

void check_value(const OptionInfo& option, const std::string& text) {
  const std::string found = "--" + option.name + ": found " + in_quotes(text) + ", expected ";
  const bool good = option.type == Type::kInteger ? is_within<long long>(text, option)
                    : option.type == Type::kReal  ? is_within<double>(text, option)
                                                  : true;
  if (!good) throw InputError(found + expected_number(option));
  if (option.type == Type::kChoice) {
    if (std::ranges::find(option.choices, text) != option.choices.end()) return;
    throw InputError(fmt::format("{}one of {}{}", found, fmt::join(option.choices, ", "),
                                 did_you_mean(text, option.choices)));
  }
  if (text.empty()) throw InputError(found + "a value (" + option.value_name + ")");
}

}  // namespace

std::vector<std::string> alternatives(const std::vector<std::string>& texts) {
  std::vector<std::string> values;
  for (const std::string& text : texts)
    for (const std::string& value : split(text, '|')) add_once(values, value);
  return values;
}

std::vector<int> count_alternatives(const std::vector<std::string>& texts,
                                    const std::string& option, const std::string& of, int most) {
  std::vector<int> counts;
  for (const std::string& text : alternatives(texts)) {
    const auto count = parse_number<int>(text, 1, most);
    if (!count)
      throw InputError(fmt::format("--{}: {} is not a number of {} from 1 to {}", option,
                                   in_quotes(text), of, most));
    add_once(counts, *count);  // 2 and 02 are equal
  }
  return counts;
}

const Arguments::Entry& Arguments::entry(std::string_view name, bool positional) const {
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second.positional != positional)
    throw std::logic_error("verb '" + verb_->name + "' has no argument '" + std::string(name) +
                           "'");
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

Arguments::Arguments(const Verb& verb, const std::vector<std::string>& words)
    : verb_(&verb), words_(words) {
  for (const OptionInfo& option : verb.options) {
    Entry entry{.type = option.type, .repeatable = option.repeatable, .values = {}};
    if (!option.default_value.empty()) entry.values = {option.default_value};
    entries_[option.name] = std::move(entry);
  }
  for (const PositionalInfo& info : verb.positionals) {
    entries_[info.name] = {
        .type = info.type, .positional = true, .repeatable = info.repeatable, .values = {}};
  }
  std::vector<std::string> loose;
  for (const po::option& token : tokens(verb, words)) {
    if (token.string_key.empty()) {
      loose.insert(loose.end(), token.value.begin(), token.value.end());
    } else if (token.string_key == "help") {
      help_ = true;
    } else {
      const std::string& name = find_option(verb, token.string_key)->name;
      Entry& entry = entries_[name];
      if (entry.given && !entry.repeatable)
        throw InputError("option '--" + name + "' is given more than once");
      if (!entry.given) entry.values.clear();
      entry.given = true;
      entry.values.insert(entry.values.end(), token.value.begin(), token.value.end());
    }
  }
  if (help_) return;
  assign_positionals(loose);
  check();
}

void Arguments::assign_positionals(const std::vector<std::string>& words) {
  std::size_t next = 0;
  for (const PositionalInfo& info : verb_->positionals) {
    Entry& entry = entries_[info.name];
    while (next < words.size() && (entry.values.empty() || info.repeatable)) {
      entry.values.push_back(words[next++]);
      entry.given = true;
    }
    if (info.required && entry.values.empty()) throw InputError(info.name + " is missing");
    for (const std::string& value : entry.values)
      if (value.empty()) throw InputError(info.name + " is empty");
  }
  if (next < words.size()) throw InputError("unexpected argument " + in_quotes(words[next]));
}

void Arguments::check() const {
  for (const OptionInfo& option : verb_->options) {
    const Entry& found = entries_.find(option.name)->second;
    if (option.required && !found.given)
      throw InputError("option '--" + option.name + " " + option.value_name + "' is missing");
    if (option.type == Type::kFlag) continue;
    for (const std::string& value : found.values) check_value(option, value);
  }
}

}  // namespace thinpipe
