// What holds for the table of every verb, those added later included.
#include "harness/commands/verbs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/text.h"
#include "harness/options/arguments.h"
#include "harness/options/help.h"
#include "harness/options/terminal.h"

namespace thinpipe {
namespace {

void expect_narrow(const std::string& text) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kColumns) << line;
}

TEST(Verbs, NamesAreUniqueAndGroupsStandTogether) {
  std::set<std::string> names, first;
  std::string last;
  for (const Verb& verb : verbs()) {
    EXPECT_TRUE(names.insert(verb.name).second) << verb.name;
    const std::string word = split(verb.name, ' ')[0];
    if (word != last) {
      EXPECT_TRUE(first.insert(word).second) << verb.name;
    }
    last = word;
    const bool grouped = verb.name.find(' ') != std::string::npos;
    const bool known = std::any_of(verb_groups().begin(), verb_groups().end(),
                                   [&](const VerbGroup& group) { return group.name == word; });
    EXPECT_EQ(grouped, known) << verb.name;
  }
}

TEST(Verbs, HelpFitsTheColumns) {
  expect_narrow(command_help(command_verb(), verbs(), verb_groups()));
  for (const VerbGroup& group : verb_groups()) expect_narrow(group_help(group, verbs()));
  for (const Verb& verb : verbs()) {
    EXPECT_LE(verb.summary.size(), 58u) << verb.name;  // 80 less the column of names
    expect_narrow(verb_help(verb));
  }
}

TEST(Verbs, EveryVerbTeaches) {
  for (const Verb& verb : verbs()) {
    EXPECT_NE(verb.prepare, nullptr) << verb.name;
    EXPECT_FALSE(verb.description.empty()) << verb.name;
    EXPECT_FALSE(verb.examples.empty()) << verb.name;
    for (const OptionInfo& option : verb.options) {
      EXPECT_FALSE(option.help.empty()) << verb.name << " --" << option.name;
      EXPECT_NE(option.help.back(), '.') << verb.name << " --" << option.name;
      EXPECT_EQ(option.type == OptionInfo::Type::kFlag, option.value_name.empty())
          << verb.name << " --" << option.name;
    }
  }
}

TEST(Verbs, OptionNamesAreUnique) {
  for (const Verb& verb : verbs()) {
    std::set<std::string> seen{"help"};
    std::set<char> letters{'h'};
    for (const OptionInfo& option : verb.options) {
      EXPECT_TRUE(seen.insert(option.name).second) << verb.name << " --" << option.name;
      if (option.letter) {
        EXPECT_TRUE(letters.insert(option.letter).second) << verb.name;
      }
    }
    for (const PositionalInfo& info : verb.positionals) {
      EXPECT_TRUE(seen.insert(info.name).second) << verb.name << " " << info.name;
    }
  }
}

// The words of a command line, with single quotes as a shell reads them.
std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char letter : line) {
    if (letter == '\'') {
      quoted = !quoted;
    } else if (letter == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += letter;
    }
  }
  return words;
}

TEST(Verbs, ExamplesAndDefaultsAreAccepted) {
  for (const Verb& verb : verbs()) {
    const std::vector<std::string> name = split("thinpipe " + verb.name, ' ');
    for (const Example& example : verb.examples) {
      const std::vector<std::string> words = shell_words(example.command);
      ASSERT_GE(words.size(), name.size()) << example.command;
      const auto rest = words.begin() + static_cast<std::ptrdiff_t>(name.size());
      EXPECT_TRUE(std::equal(name.begin(), name.end(), words.begin())) << example.command;
      EXPECT_NO_THROW(Arguments(verb, {rest, words.end()})) << example.command;
    }
  }
}

TEST(Verbs, ManualAndCompletionNameEveryOption) {
  const std::string manual = man_page(command_verb(), verbs(), "1");
  const std::string completion = bash_completion(command_verb(), verbs());
  for (const Verb& verb : verbs()) {
    for (const OptionInfo& option : verb.options) {
      std::string roff;  // a dash of its own, not a hyphen
      for (const char letter : "--" + option.name) {
        roff += letter == '-' ? std::string("\\-") : std::string(1, letter);
      }
      EXPECT_NE(manual.find(roff), std::string::npos) << option.name;
      EXPECT_NE(completion.find("--" + option.name), std::string::npos) << option.name;
    }
  }
}

}  // namespace
}  // namespace thinpipe
