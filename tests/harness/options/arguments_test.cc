// Options of a verb: read from words, completed by a shell, shown as help in a terminal.
// tests/docs/completion_test.py runs the scripts of the shells.
#include "harness/options/arguments.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "base/error.h"
#include "base/text.h"
#include "harness/options/help.h"
#include "harness/options/terminal.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using Type = OptionInfo::Type;
using Words = std::vector<std::string>;

const Verb kSample = {
    .name = "sample verb",
    .options = {{.name = "json"},
                {.name = "steps",
                 .letter = 's',
                 .value_name = "N",
                 .type = Type::kInteger,
                 .default_value = "8",
                 .minimum = 1,
                 .maximum = 64},
                {.name = "rate", .value_name = "X", .type = Type::kReal, .minimum = 0},
                {.name = "mode",
                 .value_name = "MODE",
                 .type = Type::kChoice,
                 .default_value = "quick",
                 .choices = {"quick", "thorough"}},
                {.name = "link",
                 .value_name = "LINK",
                 .type = Type::kText,
                 .default_value = "any",
                 .repeatable = true}},
    .positionals = {{.name = "DIR"}, {.name = "FILE", .required = false, .repeatable = true}}};

std::string error_of(const Verb& verb, const Words& words) {
  return input_error([&] { const Arguments arguments(verb, words); });
}

TEST(Arguments, AnOldNameMeansTheOption) {
  const Verb verb = {.name = "run",
                     .options = {{.name = "timeout",
                                  .old_name = "patience",
                                  .value_name = "S",
                                  .type = Type::kReal,
                                  .default_value = "30",
                                  .minimum = 1}}};
  const Arguments arguments(verb, {"--patience", "7"});
  EXPECT_TRUE(arguments.given("timeout"));
  EXPECT_EQ(arguments.real("timeout"), 7);
  EXPECT_EQ(error_of(verb, {"--patience", "0"}),
            "--timeout: found '0', expected a number of at least 1");
  EXPECT_EQ(error_of(verb, {"--patience", "2", "--timeout", "3"}),
            "option '--timeout' is given more than once");
  EXPECT_EQ(error_of(verb, {"--patience"}), "option '--patience' needs a value (S)");
  EXPECT_EQ(verb_help(verb).find("patience"), std::string::npos);
}

TEST(Help, OptionsStandUnderTheirGroups) {
  Verb verb = kSample;
  verb.groups = {
      {"Speed", {"rate", "no-such"}}, {"Other network", {"no-such"}}, {"Length", {"steps"}}};
  const std::string help = verb_help(verb);
  std::vector<std::size_t> places;
  for (const char* text :
       {"\nSpeed:\n      --rate X", "\nLength:\n  -s, --steps N", "\nOther options:\n      --json",
        "--mode MODE", "--link LINK", "-h, --help"})
    places.push_back(help.find(text));
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end())) << help;
  EXPECT_NE(places.back(), std::string::npos) << help;
  EXPECT_EQ(help.find("Other network"), std::string::npos);
  EXPECT_EQ(help.find("--steps"), help.rfind("--steps"));
}

TEST(Arguments, DefaultsWhenNotGiven) {
  const Arguments arguments(kSample, {"folder"});
  EXPECT_FALSE(arguments.flag("json"));
  EXPECT_FALSE(arguments.given("steps"));
  EXPECT_EQ(arguments.integer("steps"), 8);
  EXPECT_EQ(arguments.text("mode"), "quick");
  EXPECT_EQ(arguments.texts("link"), Words{"any"});
  EXPECT_EQ(arguments.positional("DIR"), "folder");
  EXPECT_TRUE(arguments.positionals("FILE").empty());
}

TEST(Arguments, EveryWayOfWritingAValue) {
  for (const Words& words : {Words{"d", "--steps", "12"}, Words{"--steps=12", "d"},
                             Words{"-s12", "d"}, Words{"-s", "12", "--", "d"}}) {
    const Arguments arguments(kSample, words);
    EXPECT_TRUE(arguments.given("steps"));
    EXPECT_EQ(arguments.integer("steps"), 12);
    EXPECT_EQ(arguments.positional("DIR"), "d");
  }
}

TEST(Arguments, RepeatedValuesReplaceTheDefaultAndKeepTheirOrder) {
  const Arguments arguments(kSample, {"--link", "b", "d", "--link=a", "x", "y"});
  EXPECT_EQ(arguments.texts("link"), (Words{"b", "a"}));
  EXPECT_EQ(arguments.positionals("FILE"), (Words{"x", "y"}));
}

TEST(Arguments, AfterTwoDashesNothingIsAnOption) {
  const Arguments arguments(kSample, {"--", "--json"});
  EXPECT_EQ(arguments.positional("DIR"), "--json");
  EXPECT_FALSE(arguments.flag("json"));
}

TEST(Arguments, HelpNeedsNothingElse) {
  EXPECT_TRUE(Arguments(kSample, {"--help"}).help());
  EXPECT_TRUE(Arguments(kSample, {"--steps", "none", "-h"}).help());
}

TEST(Arguments, ErrorsNameWhatWasFoundAndExpected) {
  EXPECT_EQ(error_of(kSample, {"d", "--step", "3"}),
            "unknown option '--step'; did you mean '--steps'?");
  EXPECT_EQ(error_of(kSample, {"d", "--steps"}), "option '--steps' needs a value (N)");
  EXPECT_EQ(error_of(kSample, {"d", "--json=yes"}), "option '--json' takes no value");
  for (const std::string bad : {"--=5", "--=", "----="})
    EXPECT_EQ(error_of(kSample, {"d", bad}), "'" + bad + "' names no option");
  EXPECT_EQ(error_of(kSample, {"d", "-s", "3", "-s", "4"}),
            "option '--steps' is given more than once");
  EXPECT_EQ(error_of(kSample, {}), "DIR is missing");
  EXPECT_EQ(error_of(kSample, {""}), "DIR is empty");
  EXPECT_EQ(error_of(kSample, {"d", "--mode", "quik"}),
            "--mode: found 'quik', expected one of quick, thorough; did you mean 'quick'?");
  for (const char* bad : {"0", "65", "3.5", "3x", "99999999999999999999"})
    EXPECT_EQ(error_of(kSample, {"d", "--steps", bad}),
              "--steps: found '" + std::string(bad) + "', expected an integer from 1 to 64");
  for (const char* bad : {"nan", "inf", "1e999", "-1", "1,5"})
    EXPECT_EQ(error_of(kSample, {"d", std::string("--rate=") + bad}),
              "--rate: found '" + std::string(bad) + "', expected a number of at least 0");
}

TEST(Arguments, TheBoundsThemselvesAreTaken) {
  for (const char* good : {"1", "64"})
    EXPECT_EQ(error_of(kSample, {"d", "--steps", good}), "") << good;
  EXPECT_EQ(error_of(kSample, {"d", "--rate=0"}), "");
}

TEST(Arguments, ExtraAndRequired) {
  Verb verb = kSample;
  verb.positionals.pop_back();
  verb.options.push_back(
      {.name = "out", .value_name = "DIR", .type = Type::kFolder, .required = true});
  EXPECT_EQ(error_of(verb, {"d"}), "option '--out DIR' is missing");
  EXPECT_EQ(error_of(verb, {"d", "e", "--out", "o"}), "unexpected argument 'e'");
  EXPECT_EQ(error_of(verb, {"d", "--out", "o"}), "");
}

TEST(Arguments, AskingForWhatTheTableLacksIsABug) {
  const Arguments arguments(kSample, {"d"});
  EXPECT_THROW(arguments.text("nothing"), std::logic_error);
  EXPECT_THROW(arguments.integer("mode"), std::logic_error);
  EXPECT_THROW(arguments.flag("steps"), std::logic_error);
  EXPECT_THROW(arguments.text("link"), std::logic_error);
  EXPECT_THROW(arguments.positional("steps"), std::logic_error);
}

TEST(Arguments, CommandLineAsGiven) {
  const Arguments arguments(kSample, {"d", "-s", "3"});
  EXPECT_EQ(arguments.command_line(), (Words{"thinpipe", "sample", "verb", "d", "-s", "3"}));
}

TEST(Alternatives, KeepTheirOrderAndComeOnce) {
  EXPECT_THAT(alternatives({"1|2", "4", "2"}), ElementsAre("1", "2", "4"));
  EXPECT_THAT(alternatives({}), ElementsAre());
}

TEST(Alternatives, CountsAreWholeNumbersWithinTheirRange) {
  EXPECT_THAT(count_alternatives({"4|1", "2", "02"}, "ranks", "ranks", 4), ElementsAre(4, 1, 2));
  for (const char* wrong : {"", "0", "5", "-1", "1.5", "two", "1|", "1 ", "99999999999999999999"})
    EXPECT_THROW(count_alternatives({wrong}, "ranks", "ranks", 4), InputError) << wrong;
  EXPECT_EQ(input_error([] { count_alternatives({"2|x"}, "threads", "hands", 8); }),
            "--threads: 'x' is not a number of hands from 1 to 8");
}

TEST(Layout, WrapsAtBlanksWithinTheColumns) {
  // "  aa bb" is 7 columns; " cc" would make 10.
  EXPECT_EQ(wrap("aa bb cc", 2, 9), "  aa bb\n  cc");
  EXPECT_EQ(wrap("aa bb cc", 2, 10), "  aa bb cc");
  EXPECT_EQ(wrap("aa bb cc", 2, 9, false), "aa bb\n  cc");
  EXPECT_EQ(wrap("a bbbbbb c", 0, 4), "a\nbbbbbb\nc");  // a long word stands alone
  EXPECT_EQ(wrap("a\nb\n\nc", 0, 9), "a b\n\nc");       // blank lines separate paragraphs
}

TEST(Layout, TwoColumns) {
  EXPECT_EQ(two_columns("ab", "cd ef", 8, 10), "  ab    cd\n        ef\n");
  EXPECT_EQ(two_columns("abcdef", "cd", 8, 10), "  abcdef\n        cd\n");
  EXPECT_EQ(two_columns("ab", "", 8, 10), "  ab\n");
}

Verb command() { return {.options = {{.name = "version"}}}; }

std::vector<Verb> sample_verbs() {
  return {{.name = "run",
           .options = {{.name = "mode",
                        .letter = 'm',
                        .value_name = "M",
                        .type = Type::kChoice,
                        .choices = {"quick", "thorough"}},
                       {.name = "quiet"},
                       {.name = "out", .value_name = "DIR", .type = Type::kFolder},
                       {.name = "compressor",
                        .letter = 'c',
                        .value_name = "SPEC",
                        .type = Type::kText,
                        .specs = {{"sbc", {{"ratio", {}}}},
                                  {"topk", {{"memory", {"none", "residual"}}, {"ratio", {}}}}}},
                       {.name = "collective",
                        .value_name = "SPEC",
                        .type = Type::kText,
                        .suggestions = {"ring", "tree"}}}},
          {.name = "trace info", .options = {{.name = "json"}}},
          {.name = "list", .positionals = {{.name = "WHAT", .suggestions = {"models", "links"}}}},
          {.name = "trace verify", .positionals = {{.name = "FILE", .type = Type::kFile}}}};
}

// The candidates with blanks between. `words` as on the command line; the last is being typed.
std::string offered(const std::vector<std::string>& words) {
  const Completion found = complete(command(), sample_verbs(), words);
  return fmt::format("{}", fmt::join(found.words, " "));
}

TEST(Completion, Verbs) {
  EXPECT_EQ(offered({}), "run trace list");
  EXPECT_EQ(offered({""}), "run trace list");
  EXPECT_EQ(offered({"t"}), "trace");
  EXPECT_EQ(offered({"trace", ""}), "info verify");
  EXPECT_EQ(offered({"trace", "v"}), "verify");
  EXPECT_EQ(offered({"--"}), "--version --help");
  EXPECT_EQ(offered({"no-such", ""}), "");
}

TEST(Completion, PositionalArguments) {
  EXPECT_EQ(offered({"list", ""}), "models links");
  EXPECT_EQ(offered({"list", "li"}), "links");
}

TEST(Completion, Options) {
  EXPECT_EQ(offered({"run", "--"}), "--mode --quiet --out --compressor --collective --help");
  EXPECT_EQ(offered({"run", "--mode", "quick", "--q"}), "--quiet");
  EXPECT_EQ(offered({"run", "--quiet", "--q"}), "--quiet");
  EXPECT_EQ(offered({"trace", "info", "--"}), "--json --help");
  EXPECT_EQ(offered({"trace", "verify", "--"}), "--help");
}

TEST(Completion, Values) {
  EXPECT_EQ(offered({"run", "--mode", ""}), "quick thorough");
  EXPECT_EQ(offered({"run", "-m", "th"}), "thorough");
  EXPECT_EQ(offered({"run", "--mode=th"}), "--mode=thorough");
  EXPECT_EQ(offered({"run", "--collective", "ring|t"}), "ring|tree");
}

TEST(Completion, Specs) {
  EXPECT_EQ(offered({"run", "-c", ""}), "sbc topk");
  EXPECT_EQ(offered({"run", "-c", "topk:"}), "topk:memory= topk:ratio=");
  EXPECT_EQ(offered({"run", "-c", "topk:r"}), "topk:ratio=");
  EXPECT_EQ(offered({"run", "-c", "topk:memory="}), "topk:memory=none topk:memory=residual");
  EXPECT_EQ(offered({"run", "-c", "topk:memory=none|r"}), "topk:memory=none|residual");
  EXPECT_EQ(offered({"run", "-c", "topk:memory=none,"}), "topk:memory=none,ratio=");
  EXPECT_EQ(offered({"run", "-c", "topk:ratio="}), "");
  EXPECT_EQ(offered({"run", "-c", "no-such:"}), "no-such:sbc no-such:topk");  // a rule
  EXPECT_EQ(offered({"run", "-c", "conv*:s"}), "conv*:sbc");
  EXPECT_EQ(offered({"run", "-c", "conv*:sbc;*:topk:r"}), "conv*:sbc;*:topk:ratio=");
  EXPECT_EQ(offered({"run", "-c", "a*:topk:ratio=1;*:topk:r"}), "a*:topk:ratio=1;*:topk:ratio=");
  EXPECT_EQ(offered({"run", "-c", "sbc|t"}), "sbc|topk");
  EXPECT_EQ(offered({"run", "-c", "sbc:ratio=1|topk:m"}), "sbc:ratio=1|topk:memory=");
}

TEST(Completion, NamesOfFilesAreTheShellsToComplete) {
  const auto lines = [](const std::vector<std::string>& words) {
    return completion_lines(complete(command(), sample_verbs(), words));
  };
  EXPECT_EQ(lines({"run", "--out", "x"}), ":folders\n");
  EXPECT_EQ(lines({"trace", "verify", "x"}), ":files\n");
  EXPECT_EQ(lines({"list", "li"}), "links\n");
  EXPECT_EQ(lines({"run", "x"}), "");
}

TEST(Completion, ScriptsCallTheCommand) {
  for (const std::string& shell : completion_shells())
    EXPECT_NE(completion_script(shell).find("--complete"), std::string::npos) << shell;
}

}  // namespace
}  // namespace thinpipe
