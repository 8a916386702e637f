// Help texts, made from the tables of the verbs.
#include "harness/options/help.h"

#include <algorithm>

#include "harness/options/layout.h"

namespace thinpipe {
namespace {

constexpr std::size_t kOptionColumn = 28;
constexpr std::size_t kVerbColumn = 22;

std::string joined(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

std::string options_text(const Verb& verb) {
  std::string text;
  for (const OptionInfo& option : verb.options) {
    text += two_columns(option_heading(option), option_text(option), kOptionColumn);
  }
  return text + two_columns("-h, --help", "print this help", kOptionColumn);
}

// A command line that is too long goes on after a backslash, so that it can be pasted as it stands.
std::string command_text(const std::string& command, std::size_t indent) {
  std::string text;
  std::size_t start = 0, margin = indent;
  while (margin + command.size() - start > kColumns) {
    std::size_t end = start;
    bool quoted = false;
    for (std::size_t i = start; i + margin - start + 2 <= kColumns; ++i) {
      if (command[i] == '\'') quoted = !quoted;
      if (command[i] == ' ' && !quoted) end = i;
    }
    if (end == start) break;  // one word
    text += std::string(margin, ' ') + command.substr(start, end - start) + " \\\n";
    start = end + 1;
    margin = indent + 2;
  }
  return text + std::string(margin, ' ') + command.substr(start) + "\n";
}

std::string examples_text(const std::vector<Example>& examples) {
  std::string text;
  for (const Example& example : examples) {
    text += (text.empty() ? "" : "\n") + wrap(example.purpose + ":", 2) + "\n" +
            command_text(example.command, 4);
  }
  return text;
}

}  // namespace

std::string option_heading(const OptionInfo& option) {
  std::string text = option.letter ? std::string("-") + option.letter + ", " : "    ";
  text += "--" + option.name;
  if (option.type != OptionInfo::Type::kFlag) text += " " + option.value_name;
  return text;
}

std::string positional_heading(const PositionalInfo& info) {
  const std::string name = info.name + (info.repeatable ? "..." : "");
  return info.required ? name : "[" + name + "]";
}

std::string option_text(const OptionInfo& option) {
  std::string text = option.help;
  if (!option.choices.empty()) text += ": " + joined(option.choices, ", ");
  if (option.required) text += " (required)";
  if (!option.default_value.empty()) text += " [default: " + option.default_value + "]";
  if (option.repeatable) text += "; may be given several times";
  return text;
}

std::string usage_line(const Verb& verb) {
  std::string line = "thinpipe " + verb.name;
  for (const OptionInfo& option : verb.options) {
    if (option.required) line += " --" + option.name + " " + option.value_name;
  }
  line += " [OPTIONS]";
  for (const PositionalInfo& info : verb.positionals) line += " " + positional_heading(info);
  return line;
}

std::string verb_help(const Verb& verb) {
  std::string text = "thinpipe " + verb.name + ": " + verb.summary + "\n\n";
  text += "Usage: " + wrap(usage_line(verb), 7, kColumns, false) + "\n\n";
  text += wrap(verb.description, 0) + "\n";
  if (!verb.positionals.empty()) text += "\nArguments:\n";
  for (const PositionalInfo& info : verb.positionals) {
    text += two_columns(positional_heading(info), info.help, kOptionColumn);
  }
  text += "\nOptions:\n" + options_text(verb);
  if (!verb.examples.empty()) text += "\nExamples:\n" + examples_text(verb.examples);
  return text;
}

std::string command_help(const Verb& command, const std::vector<Verb>& verbs,
                         const std::vector<VerbGroup>& groups) {
  std::string text = "thinpipe: " + command.summary +
                     "\n\nUsage: thinpipe VERB [OPTIONS]\n       thinpipe VERB --help\n\n";
  text += wrap(command.description, 0) + "\n\nVerbs:\n";
  std::vector<std::string> told;
  for (const Verb& verb : verbs) {
    const std::string word = verb.name.substr(0, verb.name.find(' '));
    if (std::find(told.begin(), told.end(), word) != told.end()) continue;
    told.push_back(word);
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const VerbGroup& each) { return each.name == word; });
    if (group == groups.end()) {
      text += two_columns(verb.name, verb.summary, kVerbColumn);
      continue;
    }
    const std::vector<std::string> names = verbs_of_group(word, verbs);
    text += two_columns(word + " " + joined(names, "|"),
                        names.size() == 1 ? verb.summary : group->summary, kVerbColumn);
  }
  text += "\nOptions:\n" + options_text(command);
  if (!command.examples.empty()) text += "\nExamples:\n" + examples_text(command.examples);
  return text;
}

std::string group_help(const VerbGroup& group, const std::vector<Verb>& verbs) {
  std::string text = "thinpipe " + group.name + ": " + group.summary + "\n\nUsage: thinpipe " +
                     group.name + " VERB [OPTIONS]\n\nVerbs:\n";
  for (const Verb& verb : verbs) {
    if (verb.name.compare(0, group.name.size() + 1, group.name + " ") == 0) {
      text += two_columns(verb.name, verb.summary, kVerbColumn);
    }
  }
  return text;
}

std::vector<std::string> verbs_of_group(const std::string& group, const std::vector<Verb>& verbs) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs) {
    if (verb.name.compare(0, group.size() + 1, group + " ") == 0) {
      names.push_back(verb.name.substr(group.size() + 1));
    }
  }
  return names;
}

}  // namespace thinpipe
