#include "harness/options/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <sstream>

#include "base/text.h"
#include "harness/options/terminal.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

constexpr std::size_t kOptionColumn = 28;
constexpr std::size_t kVerbColumn = 22;

// "-s, --steps N" as it stands at the left of a line of help.
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

// The option's sentence with its choices, its default and whether it is required.
std::string option_text(const OptionInfo& option) {
  std::string text = option.help;
  if (!option.choices.empty()) text += fmt::format(": {}", fmt::join(option.choices, ", "));
  if (option.required) text += " (required)";
  if (!option.default_value.empty()) text += " [default: " + option.default_value + "]";
  if (option.repeatable) text += "; may be given several times";
  return text;
}

// "thinpipe trace info [OPTIONS] DIR".
std::string usage_line(const Verb& verb) {
  std::string line = "thinpipe " + verb.name;
  for (const OptionInfo& option : verb.options) {
    if (option.required) line += " --" + option.name + " " + option.value_name;
  }
  line += " [OPTIONS]";
  for (const PositionalInfo& info : verb.positionals) line += " " + positional_heading(info);
  return line;
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

// roff reads a backslash as an escape, a dash as a hyphen, and a dot or quote that begins a line as
// a request.
std::string escaped(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char letter : text) {
    if (line_start && (letter == '.' || letter == '\'')) out += "\\&";
    line_start = letter == '\n';
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";
    } else {
      out += letter;
    }
  }
  return out;
}

std::string paragraphs(const std::string& text) {
  std::string out;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    out += (line.empty() ? ".PP" : escaped(line)) + "\n";
  }
  return out;
}

std::string entry(const std::string& heading, const std::string& text) {
  return ".TP\n.B " + escaped(heading) + "\n" + escaped(text) + "\n";
}

std::string trimmed(const std::string& text) { return text.substr(text.find_first_not_of(' ')); }

std::string options_section(const Verb& verb) {
  std::string out;
  for (const PositionalInfo& info : verb.positionals) {
    out += entry(positional_heading(info), info.help);
  }
  for (const OptionInfo& option : verb.options) {
    out += entry(trimmed(option_heading(option)), option_text(option));
  }
  return out;
}

std::string examples(const Verb& verb) {
  std::string out;
  for (const Example& example : verb.examples) {
    out += ".PP\n" + escaped(example.purpose) + ":\n.PP\n.nf\n.RS\n" + escaped(example.command) +
           "\n.RE\n.fi\n";
  }
  return out;
}

// In single quotes; a quote within closes them, is escaped, and opens them again.
std::string for_shell(const std::string& text) {
  std::string out = "'";
  for (const char letter : text)
    out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return out + "'";
}

std::string word_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return for_shell(text);
}

// Options of bash's compgen for a value of this type.
std::string generator(Type type, const std::vector<std::string>& words) {
  if (!words.empty()) return "-W " + word_list(words);
  if (type == Type::kFolder) return "-d";
  if (type == Type::kFile) return "-f";
  return "-W ''";
}

std::string option_names(const Verb& verb) {
  std::vector<std::string> names;
  for (const OptionInfo& option : verb.options) names.push_back("--" + option.name);
  names.emplace_back("--help");
  return word_list(names);
}

// The cases of one verb: after an option its values, else option names or positional arguments.
std::string verb_function(const std::string& label, const Verb& verb) {
  std::string out = "    " + for_shell(label) + ")\n      case \"$previous\" in\n";
  for (const OptionInfo& option : verb.options) {
    if (option.type == Type::kFlag) continue;
    const auto& words = option.choices.empty() ? option.suggestions : option.choices;
    out += "        --" + option.name;
    if (option.letter) out += std::string("|-") + option.letter;
    out += ") generate=(" + generator(option.type, words) + ") ;;\n";
  }
  out += "        *)\n          if [[ $current == -* ]]; then generate=(-W " + option_names(verb) +
         ")\n";
  if (!verb.positionals.empty()) {
    out += "          else generate=(" +
           generator(verb.positionals.back().type, verb.positionals.back().suggestions) + ")\n";
  }
  return out + "          fi ;;\n      esac ;;\n";
}

// After `thinpipe trace`: the group's verbs.
std::string group_cases(const std::vector<std::string>& first, const std::vector<Verb>& verbs) {
  std::string out;
  for (const std::string& word : first) {
    const std::vector<std::string> seconds = verbs_of_group(word, verbs);
    if (!seconds.empty()) {
      out += "    " + for_shell(word) + ") generate=(-W " + word_list(seconds) + ") ;;\n";
    }
  }
  return out;
}

// 'list'|'trace info'|...
std::string any_verb(const std::vector<Verb>& verbs) {
  std::string out;
  for (const Verb& verb : verbs) out += (out.empty() ? "" : "|") + for_shell(verb.name);
  return out;
}

std::vector<std::string> first_words(const std::vector<Verb>& verbs) {
  std::vector<std::string> words;
  for (const Verb& verb : verbs) {
    const std::string word = split(verb.name, ' ')[0];
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  return words;
}

}  // namespace

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
    text += two_columns(fmt::format("{} {}", word, fmt::join(names, "|")),
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

std::string man_page(const Verb& command, const std::vector<Verb>& verbs,
                     const std::string& version) {
  std::string out = ".TH THINPIPE 1 \"\" \"thinpipe " + version + "\" \"User Commands\"\n";
  out += ".SH NAME\nthinpipe \\- " + escaped(command.summary) + "\n";
  out += ".SH SYNOPSIS\n.B thinpipe\n.I VERB\n[\\fIOPTIONS\\fR]\n";
  out += ".SH DESCRIPTION\n" + paragraphs(command.description);
  out += ".SH OPTIONS\n" + options_section(command) +
         entry("-h, --help", "print help; also after a verb");
  out += ".SH VERBS\n";
  for (const Verb& verb : verbs) {
    out += ".SS " + escaped(usage_line(verb)) + "\n" + escaped(verb.summary) + ".\n.PP\n";
    out += paragraphs(verb.description) + options_section(verb) + examples(verb);
  }
  out += ".SH EXIT STATUS\n";
  out += entry("0", "Done, and good.");
  out += entry("1", "Something is worse (gate).");
  out += entry("2", "What was given is wrong: an option, a file, a spec.");
  out += entry("3", "It cannot be told whether something is worse (gate --strict).");
  out += entry("4", "A measurement or a validation failed, or the machine cannot do it.");
  out += entry("5", "What was measured cannot be compared (gate).");
  out += entry("128 + signal", "Interrupted; what was measured until then is kept.");
  return out;
}

std::string bash_completion(const Verb& command, const std::vector<Verb>& verbs) {
  const std::vector<std::string> first = first_words(verbs);
  std::string text =
      "# bash completion for thinpipe; made by `thinpipe --completion bash`.\n"
      "_thinpipe() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local verb= word\n"
      "  local -a generate=()\n"
      "  # `name:key` is several words to readline; only words before the cursor name the verb.\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    [[ $word == -* ]] && break\n"
      "    verb+=${verb:+ }$word\n"
      "    case \"$verb\" in\n"
      "      " +
      any_verb(verbs) + ") break ;;\n    esac\n  done\n  case \"$verb\" in\n";
  text += verb_function("", command) + group_cases(first, verbs);
  for (const Verb& verb : verbs) text += verb_function(verb.name, verb);
  text += "  esac\n  if [[ -z $verb && $current != -* && $previous != --* ]]; then\n";
  text += "    generate=(-W " + word_list(first) + ")\n  fi\n";
  return text +
         "  mapfile -t COMPREPLY < <(compgen \"${generate[@]}\" -- \"$current\")\n"
         "}\n"
         "complete -o filenames -o bashdefault -F _thinpipe thinpipe\n";
}

}  // namespace thinpipe
