// Completion of command lines in a shell.
#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>

#include "base/text.h"
#include "harness/options/help.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

constexpr const char* kBashScript =
    R"script(# bash completion for thinpipe; made by `thinpipe --completion bash`.
_thinpipe() {
  local line=${COMP_LINE:0:COMP_POINT} current= keep=
  local -a words=() found=()
  read -ra words <<< "$line"
  [[ $line == *' ' ]] && words+=('')
  current=${words[-1]}
  # Within quotes readline replaces the whole word, else what follows the last word break.
  if [[ $current == [\'\"]* ]]; then
    current=${current:1}
    words[-1]=$current
  else
    keep=${current%"${current##*[$COMP_WORDBREAKS]}"}
  fi
  mapfile -t found < <("${words[0]}" --complete "${words[@]:1}" 2> /dev/null)
  COMPREPLY=()
  case "${found[0]-}" in
    :files | :folders)
      compopt -o filenames 2> /dev/null
      local action=-f
      [[ ${found[0]} == :folders ]] && action=-d
      mapfile -t COMPREPLY < <(compgen "$action" -- "$current")
      ;;
    *)
      COMPREPLY=("${found[@]#"$keep"}")
      [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2> /dev/null
      ;;
  esac
  return 0
}
complete -F _thinpipe thinpipe
)script";

constexpr const char* kZshScript = R"script(#compdef thinpipe
# zsh completion for thinpipe; made by `thinpipe --completion zsh`.
_thinpipe() {
  local -a found
  found=("${(@f)$(thinpipe --complete "${(@Q)words[2,CURRENT]}" 2> /dev/null)}")
  case "$found[1]" in
    :files) _files ;;
    :folders) _files -/ ;;
    '') return 1 ;;
    *=) compadd -S '' -a found ;;
    *) compadd -a found ;;
  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _thinpipe "$@"
else
  compdef _thinpipe thinpipe
fi
)script";

constexpr const char* kFishScript =
    R"script(# fish completion for thinpipe; made by `thinpipe --completion fish`.
function __thinpipe_complete
    set -l words (commandline -opc) "$(commandline -ct)"
    set -l found (thinpipe --complete $words[2..-1] 2> /dev/null)
    switch "$found[1]"
        case ':files'
            __fish_complete_path "$words[-1]"
        case ':folders'
            __fish_complete_directories "$words[-1]"
        case '*'
            printf '%s\n' $found
    end
end
complete -c thinpipe -f -a '(__thinpipe_complete)'
)script";

// Adds each of `words` that begins with the text of `typed` after its first `kept` characters. The
// added completion has these `kept` characters before the word.
void add_words(const std::vector<std::string>& words, const std::string& typed, std::size_t kept,
               Completion& completion) {
  for (const std::string& word : words)
    if (word.starts_with(typed.substr(kept)))
      completion.words.push_back(typed.substr(0, kept) + word);
}

// Completes `name`, `name:key` or `name:key=value` in the last part of a spec or of rules.
void add_spec_words(const SpecWords& specs, const std::string& typed, Completion& completion) {
  std::size_t begin = typed.find_last_of(';') + 1;  // npos + 1 is 0
  // Behind a name a `|` begins another spec; behind a `=` it may separate values.
  const std::size_t bar = typed.find_last_of('|');
  if (bar != std::string::npos && bar > begin &&
      (typed.find('=', begin) > bar ||
       specs.contains(typed.substr(bar + 1, typed.find(':', bar) - bar - 1))))
    begin = bar + 1;
  std::size_t colon = typed.find(':', begin);
  if (colon != std::string::npos && !specs.contains(typed.substr(begin, colon - begin))) {
    begin = colon + 1;  // behind the pattern of a rule
    colon = typed.find(':', begin);
  }
  if (colon == std::string::npos) {
    std::vector<std::string> names;
    for (const auto& [name, keys] : specs) names.push_back(name);
    return add_words(names, typed, begin, completion);
  }
  const auto spec = specs.find(typed.substr(begin, colon - begin));
  if (spec == specs.end()) return;
  const std::size_t key = typed.find_last_of(":,") + 1;
  const std::size_t equals = typed.find('=', key);
  if (equals != std::string::npos) {
    const auto found = spec->second.find(typed.substr(key, equals - key));
    const std::size_t value = typed.find_last_of("=|") + 1;
    if (found != spec->second.end()) add_words(found->second, typed, value, completion);
    return;
  }
  std::vector<std::string> keys;
  for (const auto& [name, values] : spec->second)
    if (typed.find(":" + name + "=", colon) == std::string::npos &&
        typed.find("," + name + "=", colon) == std::string::npos)
      keys.push_back(name + "=");
  add_words(keys, typed, key, completion);
}

Completion::Names names_of(Type type) {
  if (type == Type::kFile) return Completion::Names::kFiles;
  return type == Type::kFolder ? Completion::Names::kFolders : Completion::Names::kNone;
}

// @param kept  characters of `typed` before the value, such as those of `--name=`
Completion complete_value(const OptionInfo& option, const std::string& typed, std::size_t kept) {
  Completion completion{.words = {}, .names = names_of(option.type)};
  if (!option.specs.empty())
    add_spec_words(option.specs, typed.substr(kept), completion);
  else
    add_words(option.choices.empty() ? option.suggestions : option.choices, typed.substr(kept),
              typed.substr(kept).find_last_of('|') + 1, completion);
  for (std::string& word : completion.words) word = typed.substr(0, kept) + word;
  return completion;
}

// Returns the option that a word such as `--steps` or `-s` names. Returns null for a flag, and for
// a word that names no option.
const OptionInfo* option_with_value(const Verb& verb, std::string_view word) {
  for (const OptionInfo& option : verb.options)
    if (option.type != Type::kFlag &&
        (word == "--" + option.name ||
         (option.letter != 0 && word == std::string("-") + option.letter)))
      return &option;
  return nullptr;
}

Completion complete_in_verb(const Verb& verb, const std::string& previous,
                            const std::string& typed) {
  if (const OptionInfo* option = option_with_value(verb, previous))
    return complete_value(*option, typed, 0);
  const std::size_t equals = typed.find('=');
  if (equals != std::string::npos)
    if (const OptionInfo* option = option_with_value(verb, typed.substr(0, equals)))
      return complete_value(*option, typed, equals + 1);
  Completion completion;
  if (typed.starts_with("-")) {
    std::vector<std::string> names;
    for (const OptionInfo& option : verb.options) names.push_back("--" + option.name);
    names.emplace_back("--help");
    add_words(names, typed, 0, completion);
  } else if (!verb.positionals.empty()) {
    completion.names = names_of(verb.positionals.back().type);
    add_words(verb.positionals.back().suggestions, typed, 0, completion);
  }
  return completion;
}

}  // namespace

Completion complete(const Verb& command, const std::vector<Verb>& verbs,
                    const std::vector<std::string>& words) {
  const std::string typed = words.empty() ? "" : words.back();
  const std::string previous = words.size() < 2 ? "" : words[words.size() - 2];
  const auto is = [&](const Verb& verb) {
    const std::vector<std::string> name = split(verb.name, ' ');
    return name.size() < words.size() && std::equal(name.begin(), name.end(), words.begin());
  };
  const auto verb = std::find_if(verbs.begin(), verbs.end(), is);
  if (verb != verbs.end()) return complete_in_verb(*verb, previous, typed);
  if (words.size() >= 2 && !verbs_of_group(words[0], verbs).empty()) {
    Completion seconds;
    add_words(verbs_of_group(words[0], verbs), typed, 0, seconds);
    return seconds;
  }
  if (typed.starts_with("-") || words.size() >= 2)
    return complete_in_verb(command, previous, typed);
  std::vector<std::string> first;
  std::set<std::string> seen;
  for (const Verb& one : verbs)
    if (const std::string word = split(one.name, ' ')[0]; seen.insert(word).second)
      first.push_back(word);
  Completion completion;
  add_words(first, typed, 0, completion);
  return completion;
}

std::string completion_lines(const Completion& completion) {
  if (completion.words.empty() && completion.names != Completion::Names::kNone)
    return completion.names == Completion::Names::kFiles ? ":files\n" : ":folders\n";
  std::string lines;
  for (const std::string& word : completion.words) lines += word + "\n";
  return lines;
}

const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> kShells{"bash", "zsh", "fish"};
  return kShells;
}

std::string completion_script(const std::string& shell) {
  return shell == "zsh" ? kZshScript : shell == "fish" ? kFishScript : kBashScript;
}

}  // namespace thinpipe
