#include "workloads/training/model.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "workloads/models/catalogue.h"

namespace thinpipe {
namespace {

class ModelTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ModelTest, CountsAreThoseOfTheCatalogue) {
  const ModelInfo& info = find_model(GetParam());
  std::size_t count = 0;
  const auto model = make_model(GetParam());
  for (const torch::Tensor& parameter : model->parameters()) {
    count += static_cast<std::size_t>(parameter.numel());
    EXPECT_EQ(parameter.scalar_type(), torch::kFloat);
  }
  EXPECT_EQ(count, info.parameters);
  const auto named = model->named_parameters();
  ASSERT_EQ(named.size(), info.tensors.size());
  for (std::size_t i = 0; i < named.size(); ++i) {
    EXPECT_EQ(named[i].key(), info.tensors[i].name);
    EXPECT_EQ(named[i].value().sizes().vec(), info.tensors[i].shape) << info.tensors[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ModelTest, ::testing::ValuesIn(trainable_models()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// The counts from the layers' sizes, independent of libtorch.
TEST(Models, CountsFromLayerSizes) {
  // conv 20 of 1x5x5, conv 50 of 20x5x5, 800 -> 500, 500 -> 10, each with biases.
  EXPECT_EQ(find_model("lenet5").parameters, 20U * 26 + 50U * 501 + 500U * 801 + 10U * 501);
  // Embedding; per layer four gates of 200 units on 200 inputs and 200 states, two biases; decoder.
  EXPECT_EQ(find_model("charlstm").parameters,
            98U * 200 + 2U * (4 * 200 * (200 + 200) + 2 * 4 * 200) + 98U * 201);
  // 3x3 convolutions 3-16, six 16-16, 16-32, five 32-32, 32-64, five 64-64; scale and shift for
  // 7 x 16, 6 x 32 and 6 x 64 channels; 64 -> 10.
  EXPECT_EQ(find_model("resnet20").parameters,
            9U * (3 * 16 + 6 * 16 * 16 + 16 * 32 + 5 * 32 * 32 + 32 * 64 + 5 * 64 * 64) +
                2U * (7 * 16 + 6 * 32 + 6 * 64) + 10U * 65);
}

TEST(Models, WidthScalesChannelsAndUnits) {
  const auto count = [](const char* name, double width) {
    std::size_t sum = 0;
    const auto model = make_model(name, width);
    for (const torch::Tensor& parameter : model->parameters()) {
      sum += static_cast<std::size_t>(parameter.numel());
    }
    return sum;
  };
  // Half of 64, 128, 256 and 512 channels: a quarter of each convolution but the first, which has
  // three channels in, and of the hidden layer; half of the biases and of the last layer.
  const std::size_t inner = 9U * (64 * 64 + 64 * 128 + 128 * 128 + 128 * 256 + 2 * 256 * 256 +
                                  256 * 512 + 5 * 512 * 512) +
                            512U * 512;
  const std::size_t biases = 2U * 64 + 2 * 128 + 3 * 256 + 6 * 512 + 512;
  EXPECT_EQ(count("vgg16-cifar", 1), inner + 27 * 64 + biases + 11 * 513);
  EXPECT_EQ(count("vgg16-cifar", 0.5), inner / 4 + 27 * 32 + biases / 2 + 11 * 257);
  EXPECT_EQ(count("wordlstm", 0.2), 10'000U * 130 + 2 * 4 * 130 * (260 + 1) + 10'000U * 131);
  // Four heads of 16 units in place of 32.
  EXPECT_EQ(count("gpt", 0.5), 98U * 64 + 64 * 64 + 4 * (12 * 64 * 64 + 13 * 64) + 2 * 64);
  EXPECT_EQ(count("gpt", 0.01), 98U * 4 + 64 * 4 + 4 * (12 * 4 * 4 + 13 * 4) + 2 * 4);
}

}  // namespace
}  // namespace thinpipe
