// Candidates for the word being typed. tests/docs/completion_test.py runs the shells' scripts.
#include "harness/options/completion.h"

#include <gtest/gtest.h>

#include <fmt/ranges.h>

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

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
