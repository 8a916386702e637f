#include "compressors/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "tests/base/input_error.h"

namespace thinpipe {
namespace {

std::string error_of(const std::string& spec) {
  return input_error([&] { check_spec(parse_spec(spec)); });
}

TEST(Registry, KnowsItsMethodsByName) {
  std::vector<std::string> names;
  for (const MethodInfo& method : methods()) names.push_back(method.name);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const char* name : {"3lc", "dgc", "none", "sbc", "sidco", "topk"}) {
    EXPECT_EQ(find_method(name).name, name);
  }
  EXPECT_EQ(find_method("none").aggregation, Aggregation::kAllReduce);
  EXPECT_EQ(find_method("topk").aggregation, Aggregation::kAllGather);
}

TEST(Registry, AggregationMayDependOnParameters) {
  const auto of = [](const char* spec) { return aggregation_of(parse_spec(spec)); };
  EXPECT_EQ(of("none"), Aggregation::kAllReduce);
  EXPECT_EQ(of("topk:ratio=0.1"), Aggregation::kAllGather);
  EXPECT_EQ(of("powersgd"), Aggregation::kAllReduce);
  EXPECT_EQ(of("powersgd:exchange=allgather"), Aggregation::kAllGather);
  EXPECT_THROW(of("powersgd:exchange=gossip"), InputError);
}

TEST(Registry, EveryMethodDescribesItself) {
  for (const MethodInfo& method : methods()) {
    SCOPED_TRACE(method.name);
    EXPECT_FALSE(method.summary.empty());
    EXPECT_FALSE(method.source.empty());
    const Parameters defaults(method.parameters, {.name = method.name, .values = {}});
    const double bits = method.expected_bits(defaults);
    EXPECT_GT(bits, 0);
    EXPECT_LE(bits, 64);
    for (const ParameterInfo& info : method.parameters) EXPECT_FALSE(info.help.empty());
  }
}

TEST(Registry, RejectsImpossibleValues) {
  for (const char* spec :
       {"topk:ratio=0", "topk:ratio=2", "topk:ratio=-0.1", "topk:ratio=abc", "topk:ratio=nan",
        "topk:ratio=inf", "topk:ratio=0.1x", "topk:ratio=1e-400", "topk:memory=maybe",
        "sidco:q=1.5", "sidco:q=0", "dgc:masking=yes", "3lc:s=2", "3lc:s=0.9", "sbc:delay=0",
        "sbc:delay=99999999999999999999", "dgc:warmup=0.5/", "dgc:warmup=0.5/2", "none:ratio=1"}) {
    EXPECT_NE(error_of(spec), "") << spec;
  }
  for (const char* spec : {"topk:ratio=1", "topk:ratio=1e-9", "3lc:s=1", "3lc:s=1.999",
                           "dgc:warmup=0.25/0.0625", "dgc:warmup=none", "sbc:delay=100"}) {
    EXPECT_EQ(error_of(spec), "") << spec;
  }
}

TEST(Registry, ErrorsNameSpecKeyAndWhatIsAllowed) {
  EXPECT_EQ(error_of("topk:ratio=2"),
            "spec 'topk:ratio=2': ratio=2 is not allowed; expected a number in (0, 1]");
  EXPECT_NE(error_of("3lc:s=2").find("[1, 2)"), std::string::npos);
  EXPECT_NE(error_of("topk:rati=0.1").find("did you mean 'ratio'?"), std::string::npos);
  EXPECT_NE(error_of("topk:rati=0.1").find("positions"), std::string::npos);
  EXPECT_NE(error_of("topk:positions=golom").find("did you mean 'golomb'?"), std::string::npos);
  EXPECT_NE(error_of("sidc").find("did you mean 'sidco'?"), std::string::npos);
  EXPECT_NE(error_of("nothing-like-it").find("known are"), std::string::npos);
}

TEST(Registry, ParametersHaveDefaultsAndOneNormalForm) {
  const auto& infos = find_method("dgc").parameters;
  const Parameters defaults(infos, parse_spec("dgc"));
  EXPECT_EQ(defaults.real("ratio"), 0.001);
  EXPECT_EQ(defaults.integer("delay"), 1);
  EXPECT_EQ(defaults.choice("memory"), "momentum");
  EXPECT_TRUE(defaults.flag("masking"));
  EXPECT_TRUE(defaults.reals("warmup").empty());
  const Parameters given(infos, parse_spec("dgc:ratio=1e-3,warmup=0.250/0.0625"));
  EXPECT_EQ(given.reals("warmup"), (std::vector<double>{0.25, 0.0625}));
  EXPECT_EQ(given.text(), Parameters(infos, parse_spec("dgc:warmup=0.25/6.25e-2")).text());
  EXPECT_THROW(given.real("memory"), std::logic_error);
  EXPECT_THROW(given.flag("nonsense"), std::logic_error);
}

TEST(Registry, RefusesTwoMethodsOfOneName) {
  MethodInfo again = find_method("none");
  EXPECT_THROW(Registration{again}, std::logic_error);
}

TEST(Registry, RefusesTensorsWhosePositionsDoNotFit) {
  const TensorInfo tensor{.name = "huge", .shape = {}, .elements = std::size_t{1} << 32};
  EXPECT_THROW(make_compressor(parse_spec("topk"), tensor, {}), InputError);
}

TEST(Aggregation, HasNames) {
  EXPECT_STREQ(to_string(Aggregation::kAllReduce), "allreduce");
  EXPECT_STREQ(to_string(Aggregation::kAllGather), "allgather");
}

}  // namespace
}  // namespace thinpipe
