#include "workloads/trace/import/names.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/input_error.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

std::string matched(const std::string& pattern, const std::string& path) {
  const auto parts = PathPattern(pattern).match(path);
  return parts ? fmt::format("{} {} {}", parts->step, parts->rank, parts->tensor) : "no";
}

TEST(PathPattern, TakesPathsApart) {
  EXPECT_EQ(matched("{step}/{rank}/{tensor}.npy", "00012/3/conv1.weight.npy"), "12 3 conv1.weight");
  EXPECT_EQ(
      matched("*r{rank}_gradients_iter_{step}.npy", "cifar10_resnet20_r0_gradients_iter_100.npy"),
      "100 0 ");
  EXPECT_EQ(matched("*{step}.npy", "grad123.npy"), "123 0 ") << "all digits, not the last alone";
  EXPECT_EQ(matched("{tensor}-{step}.npy", "a-1-2.npy"), "2 0 a-1");
  EXPECT_EQ(matched("*.npz", "anything.npz"), "0 0 ");
  EXPECT_EQ(matched("{tensor}.npy", "a%2Fb%zz%.npy"), "0 0 a/b%zz%");
}

TEST(PathPattern, DoesNotMatch) {
  EXPECT_EQ(matched("{step}/{tensor}.npy", "1/2/a.npy"), "no") << "no name holds a slash";
  EXPECT_EQ(matched("{step}.npy", "x.npy"), "no");
  EXPECT_EQ(matched("{step}.npy", ".npy"), "no");
  EXPECT_EQ(matched("{step}.npy", "1234567890123456789.npy"), "no") << "19 digits";
  EXPECT_EQ(matched("{tensor}.npy", ".npy"), "no");
  EXPECT_EQ(matched("{step}.npy", "1.npy.bak"), "no");
  // Would take for ever if every way were tried.
  EXPECT_EQ(matched("*a*a*a*a*a*a*a*a*a*a*a*b", std::string(250, 'a')), "no");
}

TEST(PathPattern, RefusesWhatIsNone) {
  EXPECT_THAT(input_error([] { PathPattern("{epoch}.npy"); }),
              HasSubstr("expected {step}, {rank} or {tensor}, found '{epoch}.npy'"));
  EXPECT_THAT(input_error([] { PathPattern("{step"); }), HasSubstr("found '{step'"));
  EXPECT_THAT(input_error([] { PathPattern("{step}{step}"); }), HasSubstr("stands twice"));
  EXPECT_THAT(input_error([] { PathPattern(""); }), HasSubstr("empty"));
}

TEST(PathPattern, FileNamesComeBack) {
  for (const std::string name : {"conv1.weight", "a/b", "..", ".x", "100 %", "q:b", "\xc3\xa4"}) {
    const std::string escaped = escaped_file_name(name);
    EXPECT_EQ(escaped.find('/'), std::string::npos);
    EXPECT_EQ(matched("{tensor}.npy", escaped + ".npy"), "0 0 " + name);
  }
}

TEST(Renames, TheFirstThatFits) {
  const Renames renames = parse_renames({"module.fc=head", "module.*=*", "*.w=*.weight"});
  EXPECT_EQ(renamed("module.fc", renames), "head");
  EXPECT_EQ(renamed("module.a.w", renames), "a.w");
  EXPECT_EQ(renamed("b.w", renames), "b.weight");
  EXPECT_EQ(renamed("b", renames), "b");
  EXPECT_EQ(renamed("ab", parse_renames({"ab*ba=x"})), "ab") << "shorter than both ends";
  EXPECT_THAT(input_error([] { parse_renames({"a"}); }), HasSubstr("expected OLD=NEW"));
  EXPECT_THAT(input_error([] { parse_renames({"a=*"}); }), HasSubstr("only if OLD has one"));
  EXPECT_THAT(input_error([] { parse_renames({"*a*=b"}); }), HasSubstr("at most one *"));
}

}  // namespace

}  // namespace thinpipe
