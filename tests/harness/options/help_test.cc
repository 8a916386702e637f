// Runs the script in bash, as readline would, and looks at what it offers.
#include "harness/options/help.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "base/text.h"

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
                       {.name = "compressor",
                        .value_name = "SPEC",
                        .type = Type::kText,
                        .suggestions = {"topk", "sbc"}}}},
          {.name = "trace info", .options = {{.name = "json"}}},
          {.name = "list", .positionals = {{.name = "WHAT", .suggestions = {"models", "links"}}}},
          {.name = "trace verify"}};
}

// `words` as on the command line; the last one is being typed.
std::string offered(const std::string& words, int typed) {
  const std::string script = bash_completion(command(), sample_verbs()) + "\nCOMP_WORDS=(" + words +
                             ")\nCOMP_CWORD=" + std::to_string(typed) +
                             "\n_thinpipe\necho \"${COMPREPLY[*]}\"\n";
  std::string quoted = "bash -u -c '";
  for (const char letter : script) {
    quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((quoted + "' 2>&1").c_str(), "r"), pclose);
  std::array<char, 4096> buffer{};
  std::string out;
  while (fgets(buffer.data(), buffer.size(), pipe.get())) out += buffer.data();
  return out;
}

TEST(Completion, Verbs) {
  EXPECT_EQ(offered("thinpipe ''", 1), "run trace list\n");
  EXPECT_EQ(offered("thinpipe t", 1), "trace\n");
  EXPECT_EQ(offered("thinpipe trace ''", 2), "info verify\n");
  EXPECT_EQ(offered("thinpipe --", 1), "--version --help\n");
}

TEST(Completion, PositionalArguments) {
  EXPECT_EQ(offered("thinpipe list ''", 2), "models links\n");
  EXPECT_EQ(offered("thinpipe list li", 2), "links\n");
}

TEST(Completion, Options) {
  EXPECT_EQ(offered("thinpipe run --", 2), "--mode --compressor --help\n");
  EXPECT_EQ(offered("thinpipe run --mode quick --c", 4), "--compressor\n");
  EXPECT_EQ(offered("thinpipe trace info --", 3), "--json --help\n");
  EXPECT_EQ(offered("thinpipe trace verify --", 3), "--help\n");
}

TEST(Completion, Values) {
  EXPECT_EQ(offered("thinpipe run --mode ''", 3), "quick thorough\n");
  EXPECT_EQ(offered("thinpipe run -m th", 3), "thorough\n");
  EXPECT_EQ(offered("thinpipe run --compressor s", 3), "sbc\n");
}

}  // namespace
}  // namespace thinpipe
