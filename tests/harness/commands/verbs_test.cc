// The table of every verb, those added later included, and helpers of single verbs.
#include "harness/commands/verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "harness/commands/gate_launcher.h"
#include "harness/commands/trace.h"
#include "harness/options/arguments.h"
#include "harness/options/help.h"
#include "harness/options/terminal.h"
#include "reports/record/writer.h"
#include "tests/base/support.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void expect_narrow(const std::string& text) {
  for (const std::string& line : split(text, '\n')) EXPECT_LE(line.size(), kColumns) << line;
}

TEST(Verbs, NamesAreUniqueAndGroupsStandTogether) {
  std::set<std::string> names, first;
  std::string last;
  for (const Verb& verb : verbs()) {
    EXPECT_TRUE(names.insert(verb.name).second) << verb.name;
    const std::string word = split(verb.name, ' ')[0];
    EXPECT_TRUE(word == last || first.insert(word).second) << verb.name;
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
      SCOPED_TRACE(verb.name + " --" + option.name);
      EXPECT_FALSE(option.help.empty());
      EXPECT_NE(option.help.back(), '.');
      EXPECT_EQ(option.type == OptionInfo::Type::kFlag, option.value_name.empty());
    }
  }
}

TEST(Verbs, OptionNamesAreUnique) {
  for (const Verb& verb : verbs()) {
    std::set<std::string> seen{"help"};
    std::set<char> letters{'h'};
    for (const OptionInfo& option : verb.options) {
      EXPECT_TRUE(seen.insert(option.name).second) << verb.name << " --" << option.name;
      EXPECT_TRUE(!option.letter || letters.insert(option.letter).second) << verb.name;
    }
    for (const PositionalInfo& info : verb.positionals)
      EXPECT_TRUE(seen.insert(info.name).second) << verb.name << " " << info.name;
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

TEST(Verbs, GroupsOfOptionsAreComplete) {
  for (const Verb& verb : verbs()) {
    EXPECT_TRUE(verb.options.size() <= 18 || !verb.groups.empty()) << verb.name;
    std::multiset<std::string> grouped;
    for (const OptionGroup& group : verb.groups)
      grouped.insert(group.options.begin(), group.options.end());
    for (const OptionInfo& option : verb.options)
      EXPECT_EQ(grouped.count(option.name), verb.groups.empty() ? 0U : 1U)
          << verb.name << " --" << option.name;
  }
}

TEST(Verbs, ManualNamesEveryOption) {
  const std::string manual = man_page(command_verb(), verbs(), "1");
  for (const Verb& verb : verbs())
    for (const OptionInfo& option : verb.options) {
      std::string roff;  // a dash of its own, not a hyphen
      for (const char letter : "--" + option.name)
        roff += letter == '-' ? std::string("\\-") : std::string(1, letter);
      EXPECT_NE(manual.find(roff), std::string::npos) << option.name;
    }
}

namespace fs = std::filesystem;

/// A fake program that writes records without measuring. In its first launches the recorded point
/// is invalid; in later launches it is valid.
class MadeUpProgram {
 public:
  MadeUpProgram(const fs::path& folder, const std::string& name, int disturbed)
      : file_(folder / name), counted_(folder / (name + ".count")) {
    for (const Status status : {Status::kInvalid, Status::kOk}) {
      RecordWriter writer(folder / (name + std::string(status_name(status))),
                          RecordWriter::Mode::kCreate);
      writer.append(sample::header());
      Point point = sample::point("topk", 1e8, 0, {0.1, 0.2});
      point.status = status;
      if (status == Status::kInvalid) point.reasons = {"idle"};
      writer.append(point);
    }
    std::ofstream(file_) << "#!/bin/sh\nfor out; do :; done\necho >> " << counted_.string()
                         << "\nkind=invalid\n[ $(wc -l < " << counted_.string() << ") -gt "
                         << disturbed << " ] && kind=ok\ncp -r " << file_.string()
                         << "$kind \"$out\"\n";
    fs::permissions(file_, fs::perms::owner_all);
  }

  const fs::path& file() const { return file_; }
  long launches() const {
    std::ifstream stream(counted_);
    return std::count(std::istreambuf_iterator<char>(stream), {}, '\n');
  }

 private:
  fs::path file_, counted_;
};

TEST(Undisturbed, ALaunchIsTakenAgainWhileThereAreRetakes) {
  const TemporaryFolder folder;
  const MadeUpProgram program(folder.path(), "program", 2);
  Launcher launcher({"run"}, folder.path());
  Undisturbed undisturbed(launcher, 3);
  EXPECT_TRUE(undisturbed.launch(program.file()).not_good.empty());
  EXPECT_EQ(program.launches(), 3);
  const MadeUpProgram worse(folder.path(), "worse", 2);
  EXPECT_FALSE(undisturbed.launch(worse.file()).not_good.empty());  // one retake was left
  EXPECT_EQ(worse.launches(), 2);
}

TEST(Undisturbed, APairIsTakenAgainAsAWhole) {
  const TemporaryFolder folder;
  const MadeUpProgram older(folder.path(), "older", 1), newer(folder.path(), "newer", 0);
  Launcher launcher({"run"}, folder.path());
  Undisturbed undisturbed(launcher, 5);
  std::mt19937_64 coin(1);
  for (const long launches : {2, 3}) {
    const auto [one, other] = undisturbed.pair(older.file(), newer.file(), false, coin);
    EXPECT_TRUE(one.not_good.empty());
    EXPECT_TRUE(other.not_good.empty());
    EXPECT_EQ(older.launches(), launches);
    EXPECT_EQ(newer.launches(), launches);
  }
}

GradientStats stats_of(const std::string& tensor, std::uint64_t step,
                       const std::vector<float>& values) {
  std::vector<float> descending;
  GradientStats stats;
  stats.tensor = tensor;
  stats.training_step = step;
  stats.distribution = describe(values, descending);
  stats.decay = fit_decay(descending, StatsOptions().ratios);
  stats.fits = fit_distributions(stats.distribution, descending);
  return stats;
}

std::string tables_of(const std::vector<GradientStats>& gradients) {
  std::string text = stats_tables(gradients, {}, {});
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

TEST(TraceStatsTables, SayWhichValuesTheyLeaveOut) {
  // Of 4 + 3 values one is NaN and one is infinite, both in tensor fc at step 20. The statistics of
  // the whole model contain both again, and they must not count twice.
  const std::vector<GradientStats> gradients = {
      stats_of("conv", 10, {1, -2, 3, 0}), stats_of("fc", 20, {NAN, 2, -INFINITY}),
      stats_of(kWholeModel, 20, {1, -2, 3, 0, NAN, 2, -INFINITY})};
  EXPECT_THAT(tables_of(gradients), HasSubstr("2 of 7 values are NaN or infinite, first in fc at "
                                              "training step 20 of rank 0."));
}

TEST(TraceStatsTables, SayNothingOfFiniteValues) {
  EXPECT_THAT(tables_of({stats_of("conv", 10, {1, -2, 3, 0})}), Not(HasSubstr("NaN")));
}

}  // namespace

}  // namespace thinpipe
