// Methods by name: specs as text, the registry, slices of arrays, and the skeleton for copying.
#include "compressors/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "compressors/spec.h"
#include "tests/base/support.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

using ::testing::AllOf;
using testing::decode;
using ::testing::ElementsAre;
using testing::encode;
using ::testing::HasSubstr;
using testing::make;

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

// Each expected value follows from the definition (EncodeTraffic).
TEST(Traffic, IsThatOfTheDefinition) {
  const auto of = [](const char* spec) { return traffic_of(parse_spec(spec)); };
  EXPECT_EQ(of("topk:memory=none"), EncodeTraffic{}) << "one read collects the candidates";
  // r = r + g in the read that sums magnitudes and collects candidates for the threshold.
  EXPECT_EQ(of("sidco"), EncodeTraffic{.residual = true});
  // u = m u + g and v = v + u: v is the residual, u is a state.
  EXPECT_EQ(of("dgc"), (EncodeTraffic{.residual = true, .states = 1}));
  // r += g, v += q: two inputs, and the variances v as a state.
  EXPECT_EQ(of("variance"), (EncodeTraffic{.inputs = 2, .residual = true, .states = 1}));
  // The estimate is read beside the gradient, and written only where something is sent.
  EXPECT_EQ(of("ef21"), EncodeTraffic{.sweeps = 2});
  // The greatest magnitude comes first; of a bucket, which is in the cache then.
  EXPECT_EQ(of("int8"), EncodeTraffic{.sweeps = 2});
  EXPECT_EQ(of("int8:bucket=512,memory=residual"), EncodeTraffic{.residual = true});
  // An addition per element in each of the log2(128) stages of the Walsh-Hadamard transform.
  EXPECT_EQ(of("sdp4bit"), EncodeTraffic{.multiply_adds = 7});
  // c q, c^T p and p q^T with three columns each.
  EXPECT_EQ(of("powersgd:rank=3"),
            (EncodeTraffic{.sweeps = 2, .residual = true, .multiply_adds = 9}));
  // One element of a hundred; with clipping, the norm needs all.
  EXPECT_EQ(of("randomk:memory=none,ratio=0.01"), EncodeTraffic{.inputs = 0.01});
  EXPECT_EQ(of("randomk:clip=1,memory=none,ratio=0.01"), EncodeTraffic{});
  EXPECT_EQ(of("topk:clip=1"), (EncodeTraffic{.sweeps = 2, .residual = true}));
  EXPECT_THROW(of("topk:ratio=2"), InputError);
}

// Reads of d elements that the floor counts, each a pass: the first, with the memory, and the other
// sweeps. Reads of some elements are no pass, as in reports.
int counted_passes(const EncodeTraffic& traffic) {
  return static_cast<int>(std::min(traffic.inputs, 1.0) + traffic.sweeps - 1);
}

TEST(Traffic, IsNoMoreThanEncodesMake) {
  constexpr std::size_t kElements = 200'000;
  const std::vector<float> gradient = testing::heavy(kElements, 1);
  for (const MethodInfo& method : methods()) {
    std::vector<std::string> specs = {method.name};
    if (parameters_of({.name = method.name, .values = {}}).has("memory"))
      specs.push_back(method.name + ":memory=none");
    for (const std::string& spec : specs) {
      const int counted = counted_passes(traffic_of(parse_spec(spec)));
      const auto compressor = make(spec, kElements);
      for (std::uint64_t step = 0; step < 3; ++step)
        EXPECT_LE(counted, encode(*compressor, gradient, step).report.passes) << spec;
    }
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
  EXPECT_THAT(error_of("3lc:s=2"), HasSubstr("[1, 2)"));
  EXPECT_THAT(error_of("topk:rati=0.1"),
              AllOf(HasSubstr("did you mean 'ratio'?"), HasSubstr("positions")));
  EXPECT_THAT(error_of("topk:positions=golom"), HasSubstr("did you mean 'golomb'?"));
  EXPECT_THAT(error_of("sidc"), HasSubstr("did you mean 'sidco'?"));
  EXPECT_THAT(error_of("nothing-like-it"), HasSubstr("(known: "));
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

TEST(Registry, TheNormalFormOfASpecLeavesOutDefaults) {
  const auto normal = [](const char* text) {
    return parameters_of(parse_spec(text)).normal().to_string();
  };
  EXPECT_EQ(normal("topk"), "topk");
  EXPECT_EQ(normal("topk:ratio=0.010"), "topk");
  EXPECT_EQ(normal("topk:ratio=1e-1,memory=residual"), "topk:ratio=0.1");
  EXPECT_EQ(normal("dgc:warmup=0.250/6.25e-2"), "dgc:warmup=0.25/0.0625");
  EXPECT_EQ(normal("topk:memory=none"), "topk:memory=none");
  EXPECT_THROW(normal("topk:ratio=2"), InputError);
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

TEST(Spec, ParsesNamesAndValues) {
  const Spec spec = parse_spec("3lc:s=1.5,zre=false");
  EXPECT_EQ(spec.name, "3lc");
  EXPECT_EQ(spec.values.size(), 2U);
  EXPECT_EQ(spec.values.at("s"), "1.5");
  EXPECT_EQ(spec.values.at("zre"), "false");
  EXPECT_EQ(parse_spec("none"), (Spec{.name = "none", .values = {}}));
}

TEST(Spec, PrintsKeysInOrder) {
  EXPECT_EQ(parse_spec("topk:ratio=0.1,memory=none").to_string(), "topk:memory=none,ratio=0.1");
  EXPECT_EQ(parse_spec("none").to_string(), "none");
  EXPECT_EQ(parse_spec("topk:ratio=0.1,memory=none"), parse_spec("topk:memory=none,ratio=0.1"));
}

TEST(Spec, RejectsWhatIsNotASpec) {
  for (const char* text : {"",
                           ":",
                           "topk:",
                           ":ratio=1",
                           "topk:ratio",
                           "topk:ratio=",
                           "topk:=1",
                           "topk:ratio=1,",
                           "topk:,ratio=1",
                           "topk:ratio=0.1,ratio=0.2",
                           "topk:ratio=0.1|0.2",
                           "top k",
                           "topk:a=b c",
                           "topk:a=b=c",
                           "ps:pull=(topk",
                           "ps:pull=topk)",
                           "ps:pull=(topk)x",
                           "ps:pull=()",
                           "ps:pull=(a:b=(c))",
                           "ps:pull=(a,b)",
                           "ps:(a)",
                           "(ps)",
                           "TOPK",
                           "topk:Ratio=1",
                           "topk:ratio=0.1;x",
                           "a:b=\n",
                           "\xff"}) {
    EXPECT_THROW(parse_spec(text), InputError) << text;
  }
}

TEST(Spec, ErrorNamesTheSpecAndTheProblem) {
  EXPECT_THAT(error_of("topk:ratio=0.1,ratio=0.2"),
              AllOf(HasSubstr("topk:ratio=0.1,ratio=0.2"), HasSubstr("'ratio' is given twice")));
}

std::vector<std::string> expanded(const std::string& text) {
  std::vector<std::string> texts;
  for (const Spec& spec : expand_specs(text)) texts.push_back(spec.to_string());
  return texts;
}

TEST(Spec, ExpandsAlternativesInWritingOrder) {
  EXPECT_THAT(expanded("topk|dgc:ratio=0.1|0.01,memory=none|residual"),
              ElementsAre("topk:memory=none,ratio=0.1", "topk:memory=residual,ratio=0.1",
                          "topk:memory=none,ratio=0.01", "topk:memory=residual,ratio=0.01",
                          "dgc:memory=none,ratio=0.1", "dgc:memory=residual,ratio=0.1",
                          "dgc:memory=none,ratio=0.01", "dgc:memory=residual,ratio=0.01"));
  EXPECT_EQ(expand_specs("none").size(), 1U);
  for (const char* text : {"topk:ratio=0.1|", "topk:ratio=|0.1", "topk|", "|", "topk:ratio|a=1"}) {
    EXPECT_THROW(expand_specs(text), InputError) << text;
  }
}

TEST(Spec, AValueInParenthesesIsASpec) {
  const Spec spec = parse_spec("ps:servers=2,pull=(topk:ratio=0.1,memory=none)");
  EXPECT_EQ(spec.values.at("servers"), "2");
  EXPECT_EQ(spec.values.at("pull"), "(topk:memory=none,ratio=0.1)");
  EXPECT_EQ(parse_spec(spec.to_string()), spec);
  EXPECT_EQ(spec_of_value(spec.values.at("pull")), parse_spec("topk:ratio=0.1,memory=none"));
  EXPECT_EQ(spec_of_value("none"), parse_spec("none"));
  EXPECT_THROW(spec_of_value("(none"), InputError);
  EXPECT_THAT(
      expanded("ps:pull=none|(topk:ratio=0.1|0.01),servers=1|2"),
      ElementsAre("ps:pull=none,servers=1", "ps:pull=none,servers=2",
                  "ps:pull=(topk:ratio=0.1),servers=1", "ps:pull=(topk:ratio=0.1),servers=2",
                  "ps:pull=(topk:ratio=0.01),servers=1", "ps:pull=(topk:ratio=0.01),servers=2"));
}

TEST(SliceEnds, AreEvenAndTheLongerSlicesComeFirst) {
  EXPECT_THAT(slice_ends(parse_spec("3lc"), 10000, 3), ElementsAre(3334, 6667, 10000));
  EXPECT_THAT(slice_ends(parse_spec("3lc"), 4096, 4), ElementsAre(1024, 2048, 3072, 4096));
}

TEST(SliceEnds, AreEndsOfGrains) {
  EXPECT_EQ(slice_grain(parse_spec("blockint4:block=256")), 256U);
  EXPECT_EQ(slice_grain(parse_spec("qsgd:bucket=0")), 1U);
  EXPECT_EQ(slice_grain(parse_spec("topk")), 1U);
  // 40 grains, the last with 16 elements: 14, 13 and 13 of them.
  EXPECT_THAT(slice_ends(parse_spec("blockint4:block=256"), 10000, 3),
              ElementsAre(14 * 256, 27 * 256, 10000));
}

TEST(SliceEnds, SmallArraysHaveFewerSlicesThanRanks) {
  EXPECT_THAT(slice_ends(parse_spec("3lc"), 2100, 4), ElementsAre(1050, 2100));
  EXPECT_THAT(slice_ends(parse_spec("3lc"), 100, 4), ElementsAre(100));
  EXPECT_THAT(slice_ends(parse_spec("3lc"), 0, 4), ElementsAre(0));
  EXPECT_THAT(slice_ends(parse_spec("3lc"), 10000, 1), ElementsAre(10000));
}

TEST(SliceEnds, UnknownMethodsAreRefused) {
  EXPECT_THROW(slice_ends({.name = "nonesuch", .values = {}}, 10, 2), InputError);
}

// The skeleton works as docs/adding-a-compressor.md promises, with everything that each method gets
// for free.

TEST(Skeleton, SendsWhatExceedsTheLimit) {
  const auto compressor = make("skeleton:limit=0.5", 5);
  const auto encoded = encode(*compressor, std::vector<float>{0.5F, -0.75F, 0.25F, 1, 0});
  EXPECT_EQ(decode(*compressor, encoded.payload), (std::vector<float>{0, -0.75F, 0, 1, 0}));
  EXPECT_EQ(encoded.report.selected_elements, 2U);
}

TEST(Skeleton, HasAMemoryWithoutALineOfItsOwn) {
  const auto compressor = make("skeleton:limit=0.5,positions=golomb", 1);
  const std::vector<float> gradient = {0.25F};
  for (const float sent : {0.0F, 0.0F, 0.75F}) {
    EXPECT_EQ(testing::sent_values(*compressor, gradient)[0], sent);
  }
}

TEST(Skeleton, ItsParametersAreChecked) {
  EXPECT_THROW(make("skeleton:limit=-1", 5), InputError);
  EXPECT_THROW(make("skeleton:limt=1", 5), InputError);
}

}  // namespace

}  // namespace thinpipe
