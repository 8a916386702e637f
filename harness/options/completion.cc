// Completion of the command line in bash, made from the tables of the verbs.
#include "harness/options/completion.h"

#include <algorithm>

#include "base/text.h"
#include "harness/options/help.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

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

// What bash's compgen is to be asked for a value of this type.
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
    out += "          else generate=(" + generator(verb.positionals.back().type, verb.positionals.back().suggestions) + ")\n";
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
