#include "workloads/models/catalogue.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/base/support.h"

namespace thinpipe {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Catalogue, HoldsTheModelsOfThePapersAndOfToday) {
  std::vector<std::string> names;
  for (const ModelInfo& model : model_catalogue()) names.push_back(model.name);
  EXPECT_THAT(names, ElementsAre("alexnet", "bert-large", "charlstm", "deepspeech-gru", "gpt",
                                 "gpt2-xl", "lenet5", "llama-3-8b", "lstm-an4", "lstm-ptb",
                                 "resnet110", "resnet20", "resnet32", "resnet50", "vgg16",
                                 "vgg16-cifar", "vgg19", "vit-b16", "wordlstm"));
}

// The counts that METHODS prints, by their papers, not by the data files.
TEST(Catalogue, CountsOfThePapers) {
  EXPECT_EQ(find_model("lstm-ptb").parameters, 66'034'000U);     // SIDCo, table 1
  EXPECT_EQ(find_model("lstm-an4").parameters, 43'476'256U);     // SIDCo, table 1
  EXPECT_EQ(find_model("vgg16-cifar").parameters, 14'982'987U);  // SIDCo, table 1
  EXPECT_EQ(find_model("resnet50").parameters, 25'559'081U);     // SIDCo, table 1
  EXPECT_EQ(find_model("vgg19").parameters, 143'671'337U);       // SIDCo, table 1
  // SIDCo prints 269,467 for ResNet-20; He et al.'s description has 255 more, see the data file.
  EXPECT_EQ(find_model("resnet20").parameters, 269'467U + 255U);
  // DGC, tables 3 and 4, in units of 2^20 bytes.
  const auto mib = [](std::size_t parameters) {
    return std::round(static_cast<double>(parameters) * 4 / 1048576 * 100) / 100;
  };
  EXPECT_EQ(mib(find_model("alexnet").parameters), 232.56);
  EXPECT_EQ(mib(find_model("deepspeech-gru").parameters), 488.08);
  EXPECT_EQ(mib(find_model("resnet50").parameters - 2049), 97.49);  // of 1000 classes, not 1001
  EXPECT_EQ(mib(find_model("lstm-ptb").parameters - 10'000U * 1500U), 194.68);  // tied
}

// From the layers' sizes, not from the files.
TEST(Catalogue, CountsFromLayerSizes) {
  EXPECT_EQ(find_model("lenet5").parameters, 20U * 26 + 50U * 501 + 500U * 801 + 10U * 501);
  // Embedding; per layer four gates with one bias; decoder.
  EXPECT_EQ(find_model("wordlstm").parameters,
            10'000U * 650 + 2U * 4 * 650 * (650 + 650 + 1) + 10'000U * 651);
  // 6n + 2 layers; n blocks a group: 2n - 1 convolutions of the group's own width and one into it.
  const auto cifar = [](std::size_t n) {
    return 9 * (3 * 16 + 2 * n * 16 * 16 + 16 * 32 + (2 * n - 1) * 32 * 32 + 32 * 64 +
                (2 * n - 1) * 64 * 64) +
           2 * (16 + 2 * n * (16 + 32 + 64)) + 650;
  };
  EXPECT_EQ(find_model("resnet20").parameters, cifar(3));
  EXPECT_EQ(find_model("resnet32").parameters, cifar(5));
  EXPECT_EQ(find_model("resnet110").parameters, cifar(18));
  // Llama: embedding and output; a layer: q and o, k and v, three of the feed-forward, two norms.
  EXPECT_EQ(find_model("llama-3-8b").parameters,
            2ULL * 128'256 * 4096 + 4096 +
                32ULL * (2 * 4096 * 4096 + 2 * 1024 * 4096 + 3 * 4096 * 14'336 + 2 * 4096));
  EXPECT_EQ(find_model("gpt").parameters,
            (98U + 64) * 128 + 4U * (12 * 128 * 128 + 13 * 128) + 2 * 128);
  // GPT-2: a layer has 12 u^2 weights and 13 u biases and norms.
  EXPECT_EQ(find_model("gpt2-xl").parameters,
            (50'257ULL + 1024) * 1600 + 48ULL * (12 * 1600 * 1600 + 13 * 1600) + 2 * 1600);
}

// Whether a model of so many parameters has the printed count, the difference set aside.
bool agrees(const PublishedCount& count, std::size_t of_model) {
  const std::int64_t meant = static_cast<std::int64_t>(of_model) - count.difference;
  if (count.mib) {
    constexpr double kBytes = 4, kMebi = 1 << 20;
    return std::round(static_cast<double>(meant) * kBytes / kMebi * 100) ==
           std::round(*count.mib * 100);
  }
  const std::int64_t off = meant - static_cast<std::int64_t>(*count.parameters);
  const auto step = static_cast<std::int64_t>(count.rounded_to);
  return step == 1 ? off == 0 : 2 * std::abs(off) <= step;
}

class EveryModel : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryModel, AgreesWithWhatIsPublished) {
  const ModelInfo& model = find_model(GetParam());
  for (const PublishedCount& count : model.published) {
    EXPECT_TRUE(agrees(count, model.parameters)) << count.by;
  }
}

TEST_P(EveryModel, GradientsBecomeReadyFromTheLastToTheFirst) {
  const ModelInfo& model = find_model(GetParam());
  const std::vector<double> shares = model.ready_shares();
  ASSERT_EQ(shares.size(), model.tensors.size());
  EXPECT_DOUBLE_EQ(shares.front(), 1);
  EXPECT_GT(shares.back(), 0);
  for (std::size_t i = 1; i < shares.size(); ++i) {
    EXPECT_LE(shares[i], shares[i - 1]);
    EXPECT_LT(model.ready_order(i), model.ready_order(i - 1));
  }
}

TEST_P(EveryModel, EveryTimeNamesItsSourceAndDevice) {
  const ModelInfo& model = find_model(GetParam());
  EXPECT_FALSE(model.times.empty());
  for (const ModelTimes& times : model.times) {
    EXPECT_FALSE(times.device.empty());
    EXPECT_FALSE(times.source.empty());
    EXPECT_GT(times.forward, 0);
    EXPECT_GT(times.backward, 0);
    EXPECT_EQ(times.kind == ModelTimes::Kind::kEstimated, times.flops_per_second > 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryModel, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const ModelInfo& model : model_catalogue()) {
                             names.push_back(model.name);
                           }
                           return names;
                         }()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// ResNet-50's 4.09 and VGG16's 15.5 thousand million multiply-adds are well known.
TEST(Catalogue, MultiplyAdds) {
  EXPECT_NEAR(static_cast<double>(find_model("resnet50").multiply_adds), 4.09e9, 0.005e9);
  EXPECT_NEAR(static_cast<double>(find_model("vgg16").multiply_adds), 15.47e9, 0.005e9);
}

TEST(Catalogue, EstimatesFollowTheirFormula) {
  const ModelTimes& times = find_model("resnet50").times.at(0);
  ASSERT_EQ(times.kind, ModelTimes::Kind::kEstimated);
  // 2 x 160 x 4.089e9 / 7.85e12 s.
  EXPECT_NEAR(times.forward, 0.1667, 0.0001);
  EXPECT_DOUBLE_EQ(times.backward, 2 * times.forward);
}

TEST(Catalogue, TrainableModels) {
  EXPECT_THAT(trainable_models(), ElementsAre("charlstm", "gpt", "lenet5", "resnet20", "resnet32",
                                              "vgg16-cifar", "wordlstm"));
  EXPECT_EQ(find_trainable_model("charlstm").training->data, DataKind::kText);
  EXPECT_THAT(input_error([] { find_trainable_model("vgg19"); }),
              HasSubstr("'vgg19' is unknown (expected one of charlstm, gpt, lenet5, resnet20"));
  EXPECT_THAT(input_error([] { find_model("vgg18"); }), HasSubstr("did you mean 'vgg16'?"));
}

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
  EXPECT_TRUE(agrees(model.published[0], 70));
  EXPECT_FALSE(agrees(model.published[0], 71));
}

TEST(ModelFile, SharesOfTheBackwardPassFollowTheMultiplyAdds) {
  // The backward pass starts at the end. The last bias needs 0 of 130 multiply-adds, but is ready
  // no earlier than the first tensor that costs any. The next tensors are ready after 50, 50, 100
  // and 130 of 130.
  EXPECT_THAT(parse(small()).ready_shares(),
              ElementsAre(1, 100. / 130, 50. / 130, 50. / 130, 50. / 130));
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
  EXPECT_THAT(error("/layers/0/0", "1.bias"), HasSubstr("'1.bias' appears twice"));
  EXPECT_THAT(error("/layers/1/for", json::array({2, 1})), HasSubstr("layers[1].for[1]"));
  EXPECT_THAT(error("/times", json::array()), HasSubstr("times: expected at least one"));
  EXPECT_THAT(error("/times/0/kind", "guessed"), HasSubstr("expected measured or estimated"));
  EXPECT_THAT(error("/times/0/forward", 1), HasSubstr("forward"));  // an estimate is computed
  EXPECT_THAT(error("/published/0/difference", 3), HasSubstr("expected why for the difference"));
  EXPECT_THAT(error("/published/0/mib", 1.5), HasSubstr("either parameters or mib"));
  EXPECT_THAT(error("/extra", 1), HasSubstr("extra"));
}

}  // namespace

}  // namespace thinpipe
