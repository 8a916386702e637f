#include "workloads/models/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/base/input_error.h"

namespace thinpipe {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json small() {
  return json::parse(R"({
    "name": "small", "title": "a small one", "source": "here",
    "published": [{"by": "a paper", "parameters": 70}],
    "times": [{"kind": "estimated", "device": "a card", "batch": 5, "flops_per_second": 1000, "memory_rate": 100,
               "source": "assumed"}],
    "layers": [["in.weight", [2, 5], 3],
               {"for": [1, 2], "layers": [["{}.weight", [5, 5], 2], ["{}.bias", [5]]]}]})");
}

ModelInfo parse(const json& object) { return parse_model_file(object.dump(), "small.json"); }

TEST(ModelFile, RepeatsLayersByNumber) {
  const ModelInfo model = parse(small());
  std::vector<std::string> names;
  for (const ModelTensor& tensor : model.tensors) names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("in.weight", "1.weight", "1.bias", "2.weight", "2.bias"));
  EXPECT_EQ(model.parameters, 10U + 2 * (25 + 5));
  EXPECT_EQ(model.multiply_adds, 10U * 3 + 2 * 25 * 2);
  EXPECT_DOUBLE_EQ(model.times[0].forward, 2 * 5 * 130 / 1000.0);
  EXPECT_TRUE(model.published[0].agrees(70));
  EXPECT_FALSE(model.published[0].agrees(71));
}

TEST(ModelFile, SharesOfTheBackwardPassFollowTheMultiplyAdds) {
  // From the end: bias 0 of 130, but ready no earlier than the first that costs; then 50, 50, 100,
  // 130 of 130.
  EXPECT_THAT(parse(small()).ready_shares(),
              ElementsAre(1, 100. / 130, 50. / 130, 50. / 130, 50. / 130));
}

TEST(ModelFile, PublishedCounts) {
  const PublishedCount rounded{.by = "", .parameters = 8'000'000, .rounded_to = 1'000'000};
  EXPECT_TRUE(rounded.agrees(8'500'000));
  EXPECT_FALSE(rounded.agrees(8'500'001));
  const PublishedCount size{.by = "", .mib = 97.49, .difference = 2049};
  EXPECT_TRUE(size.agrees(25'559'081));
  EXPECT_FALSE(size.agrees(25'559'081 + 3000));
}

TEST(ModelFile, NamesWhatIsWrong) {
  const auto error = [](const char* pointer, const json& value) {
    json object = small();
    object[json::json_pointer(pointer)] = value;
    return input_error([&] { parse(object); });
  };
  EXPECT_THAT(error("/name", "other"), HasSubstr("small.json: name: expected the file's name"));
  EXPECT_THAT(error("/layers/0", json::array({"x"})),
              HasSubstr("layers[0]: expected [name, shape"));
  EXPECT_THAT(error("/layers/0/1/0", 0), HasSubstr("layers[0][1][0]"));
  EXPECT_THAT(error("/layers/0/0", "1.bias"), HasSubstr("'1.bias' stands twice"));
  EXPECT_THAT(error("/layers/1/for", json::array({2, 1})), HasSubstr("layers[1].for[1]"));
  EXPECT_THAT(error("/times", json::array()), HasSubstr("times: expected at least one"));
  EXPECT_THAT(error("/times/0/kind", "guessed"), HasSubstr("expected measured or estimated"));
  EXPECT_THAT(error("/times/0/forward", 1), HasSubstr("forward"));  // an estimate is computed
  EXPECT_THAT(error("/published/0/difference", 3), HasSubstr("a difference without why"));
  EXPECT_THAT(error("/published/0/mib", 1.5), HasSubstr("either parameters or mib"));
  EXPECT_THAT(error("/extra", 1), HasSubstr("extra"));
}

}  // namespace
}  // namespace thinpipe
