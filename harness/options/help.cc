#include "harness/options/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "harness/options/terminal.h"

namespace thinpipe {
namespace {

constexpr std::size_t kOptionColumn = 28;
constexpr std::size_t kVerbColumn = 22;

// "-s, --steps N": the left column of a help line.
std::string option_heading(const OptionInfo& option) {
  std::string text = option.letter ? std::string("-") + option.letter + ", " : "    ";
  text += "--" + option.name;
  if (option.type != OptionInfo::Type::kFlag) text += " " + option.value_name;
  return text;
}

// "DIR", "[FILE...]".
std::string positional_heading(const PositionalInfo& info) {
  const std::string name = info.name + (info.repeatable ? "..." : "");
  return info.required ? name : "[" + name + "]";
}

// Returns the option's help with its choices, its default, and "(required)" or "(repeatable)".
std::string option_text(const OptionInfo& option) {
  std::string text = option.help;
  if (!option.choices.empty()) text += fmt::format(": {}", fmt::join(option.choices, ", "));
  if (option.required) text += " (required)";
  if (option.repeatable) text += " (repeatable)";
  if (!option.default_value.empty()) text += " [default: " + option.default_value + "]";
  return text;
}

// "thinpipe trace info [OPTIONS] DIR".
std::string usage_line(const Verb& verb) {
  std::string line = "thinpipe " + verb.name;
  for (const OptionInfo& option : verb.options)
    if (option.required) line += " --" + option.name + " " + option.value_name;
  line += " [OPTIONS]";
  for (const PositionalInfo& info : verb.positionals) line += " " + positional_heading(info);
  return line;
}

// Options under their headings: groups in the verb's order, then the options of no group.
struct OptionSection {
  std::string title;
  std::vector<const OptionInfo*> options;
};

std::vector<OptionSection> sections_of(const Verb& verb) {
  std::vector<OptionSection> sections;
  std::vector<const OptionInfo*> rest;
  for (const OptionInfo& option : verb.options) rest.push_back(&option);
  for (const OptionGroup& group : verb.groups) {
    OptionSection section{.title = group.title, .options = {}};
    for (const std::string& name : group.options) {
      const auto found = std::ranges::find(rest, name, &OptionInfo::name);
      if (found == rest.end()) continue;
      section.options.push_back(*found);
      rest.erase(found);
    }
    if (!section.options.empty()) sections.push_back(std::move(section));
  }
  sections.push_back({sections.empty() ? "Options" : "Other options", std::move(rest)});
  return sections;
}

std::string options_text(const Verb& verb) {
  std::string text;
  for (const OptionSection& section : sections_of(verb)) {
    text += (text.empty() ? "" : "\n") + section.title + ":\n";
    for (const OptionInfo* option : section.options)
      text += two_columns(option_heading(*option), option_text(*option), kOptionColumn);
  }
  return text + two_columns("-h, --help", "print this help", kOptionColumn);
}

// Breaks a long command line with a backslash, so that it can be pasted into a shell.
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
  for (const Example& example : examples)
    text += (text.empty() ? "" : "\n") + wrap(example.purpose + ":", 2) + "\n" +
            command_text(example.command, 4);
  return text;
}

// Escapes text for roff, which reads a backslash as an escape, a dash as a hyphen, and a dot or
// quote at the beginning of a line as a request.
std::string escaped(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char letter : text) {
    if (line_start && (letter == '.' || letter == '\'')) out += "\\&";
    line_start = letter == '\n';
    if (letter == '\\')
      out += "\\e";
    else if (letter == '-')
      out += "\\-";
    else
      out += letter;
  }
  return out;
}

std::string paragraphs(const std::string& text) {
  std::string out;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);)
    out += (line.empty() ? ".PP" : escaped(line)) + "\n";
  return out;
}

std::string entry(const std::string& heading, const std::string& text) {
  return ".TP\n.B " + escaped(heading) + "\n" + escaped(text) + "\n";
}

std::string options_section(const Verb& verb) {
  std::string out;
  for (const PositionalInfo& info : verb.positionals)
    out += entry(positional_heading(info), info.help);
  for (const OptionSection& section : sections_of(verb)) {
    if (!verb.groups.empty()) out += ".PP\n.I " + escaped(section.title) + "\n";
    for (const OptionInfo* option : section.options)
      out += entry(std::string(trimmed(option_heading(*option))), option_text(*option));
  }
  return out;
}

std::string examples(const Verb& verb) {
  std::string out;
  for (const Example& example : verb.examples)
    out += ".PP\n" + escaped(example.purpose) + ":\n.PP\n.nf\n.RS\n" + escaped(example.command) +
           "\n.RE\n.fi\n";
  return out;
}

}  // namespace

std::string verb_help(const Verb& verb) {
  std::string text = "thinpipe " + verb.name + ": " + verb.summary + "\n\n";
  text += "Usage: " + wrap(usage_line(verb), 7, kColumns, false) + "\n\n";
  text += wrap(verb.description, 0) + "\n";
  if (!verb.positionals.empty()) text += "\nArguments:\n";
  for (const PositionalInfo& info : verb.positionals)
    text += two_columns(positional_heading(info), info.help, kOptionColumn);
  text += "\n" + options_text(verb);
  if (!verb.examples.empty()) text += "\nExamples:\n" + examples_text(verb.examples);
  return text;
}

std::string command_help(const Verb& command, const std::vector<Verb>& verbs,
                         const std::vector<VerbGroup>& groups) {
  std::string text = "thinpipe: " + command.summary +
                     "\n\nUsage: thinpipe COMMAND [OPTIONS]\n       thinpipe COMMAND --help\n\n";
  text += wrap(command.description, 0) + "\n\nCommands:\n";
  std::vector<std::string> listed;
  for (const Verb& verb : verbs) {
    const std::string word = verb.name.substr(0, verb.name.find(' '));
    if (std::find(listed.begin(), listed.end(), word) != listed.end()) continue;
    listed.push_back(word);
    const auto group = std::ranges::find(groups, word, &VerbGroup::name);
    if (group == groups.end()) {
      text += two_columns(verb.name, verb.summary, kVerbColumn);
      continue;
    }
    const std::vector<std::string> names = verbs_of_group(word, verbs);
    text += two_columns(fmt::format("{} {}", word, fmt::join(names, "|")),
                        names.size() == 1 ? verb.summary : group->summary, kVerbColumn);
  }
  text += "\n" + options_text(command);
  if (!command.examples.empty()) text += "\nExamples:\n" + examples_text(command.examples);
  return text;
}

std::string group_help(const VerbGroup& group, const std::vector<Verb>& verbs) {
  std::string text = "thinpipe " + group.name + ": " + group.summary + "\n\nUsage: thinpipe " +
                     group.name + " COMMAND [OPTIONS]\n\nCommands:\n";
  for (const Verb& verb : verbs)
    if (verb.name.starts_with(group.name + " "))
      text += two_columns(verb.name, verb.summary, kVerbColumn);
  return text;
}

std::vector<std::string> verbs_of_group(const std::string& group, const std::vector<Verb>& verbs) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs)
    if (verb.name.starts_with(group + " ")) names.push_back(verb.name.substr(group.size() + 1));
  return names;
}

std::string man_page(const Verb& command, const std::vector<Verb>& verbs,
                     const std::string& version) {
  std::string out = ".TH THINPIPE 1 \"\" \"thinpipe " + version + "\" \"User Commands\"\n";
  out += ".SH NAME\nthinpipe \\- " + escaped(command.summary) + "\n";
  out += ".SH SYNOPSIS\n.B thinpipe\n.I COMMAND\n[\\fIOPTIONS\\fR]\n";
  out += ".SH DESCRIPTION\n" + paragraphs(command.description);
  out += ".SH OPTIONS\n" + options_section(command) +
         entry("-h, --help", "print help; also after a command");
  out += ".SH COMMANDS\n";
  for (const Verb& verb : verbs) {
    out += ".SS " + escaped(usage_line(verb)) + "\n" + escaped(verb.summary) + ".\n.PP\n";
    out += paragraphs(verb.description) + options_section(verb) + examples(verb);
  }
  out += ".SH EXIT STATUS\n";
  out += entry("0", "Success.");
  out += entry("1", "Regression found (gate).");
  out += entry("2", "Usage or input error: a bad option, file or spec.");
  out += entry("3", "Inconclusive: noise or a busy host (gate --strict, net verify, net play).");
  out += entry("4", "A measurement or validation failed, or the host lacks a required feature.");
  out += entry("5", "Results are not comparable (gate).");
  out += entry("128 + signal", "Interrupted by a signal; records written so far are kept.");
  return out;
}

}  // namespace thinpipe
