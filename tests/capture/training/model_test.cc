#include "workloads/training/model.h"

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

INSTANTIATE_TEST_SUITE_P(All, ModelTest, ::testing::Values("lenet5", "charlstm", "resnet20"),
                         [](const auto& instance) { return instance.param; });

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

}  // namespace
}  // namespace thinpipe
