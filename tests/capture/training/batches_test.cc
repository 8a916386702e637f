// Batches that every run draws alike, and the models that they are for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <array>

#include "tests/base/support.h"
#include "workloads/data/digits.h"
#include "workloads/models/catalogue.h"
#include "workloads/training/batches.h"
#include "workloads/training/model.h"

namespace thinpipe {
namespace {

TextCorpus numbers_up_to(std::uint16_t count) {
  TextCorpus corpus;
  for (std::uint16_t i = 0; i < count; ++i) corpus.symbols.push_back(i);
  return corpus;
}

TEST(TextBatches, TargetsAreTheSymbolsThatFollow) {
  // Two workers of two streams: ten symbols each, read four at a time.
  const auto batches = make_text_batches(numbers_up_to(40), 2, 2, 4);
  const Batch first = batches->at(1, 0);
  EXPECT_TRUE(torch::equal(first.inputs, torch::tensor({{20, 21, 22, 23}, {30, 31, 32, 33}})));
  EXPECT_TRUE(torch::equal(first.targets, torch::tensor({{21, 22, 23, 24}, {31, 32, 33, 34}})));
  EXPECT_EQ(batches->at(1, 1).inputs[0][0].item<int>(), 24);
  // Two symbols are too few: from the start.
  EXPECT_EQ(batches->at(1, 2).inputs[0][0].item<int>(), 20);
  EXPECT_THAT(input_error([&] { make_text_batches(numbers_up_to(40), 2, 5, 4); }),
              ::testing::HasSubstr("40 symbols of text, expected at least 50"));
}

TEST(TextBatches, HeldOutTextIsReadOnce) {
  // Ten streams of 11 symbols are read five symbols at a time, in two steps. The last symbol of
  // each stream is only a target.
  const auto held_out = make_held_out_text(numbers_up_to(110), 5);
  ASSERT_EQ(held_out->size(), 2U);
  EXPECT_EQ(held_out->at(0).inputs[9][0].item<int>(), 99);
  EXPECT_EQ(held_out->at(1).targets[9][4].item<int>(), 109);
}

TEST(TextBatches, LongHeldOutTextHasMoreStreams) {
  EXPECT_EQ(make_held_out_text(numbers_up_to(880), 1)->at(0).inputs.size(0), 22);  // 880 / (20 * 2)
  EXPECT_EQ(make_held_out_text(numbers_up_to(60000), 1)->at(0).inputs.size(0), 40);
}

TEST(ImageBatches, AShareSmallerThanABatchIsRefused) {
  EXPECT_THAT(
      input_error([] { make_image_batches(draw_digits(10, 1), {.workers = 4, .batch = 3}); }),
      ::testing::HasSubstr("3 images, but worker 2 of 4 has only 2"));
}

ImageSet images_of_one_pixel(std::uint8_t count) {
  ImageSet set{.height = 1, .width = 1};
  for (std::uint8_t i = 0; i < count; ++i) {
    set.labels.push_back(i);
    set.pixels.push_back(i);
  }
  return set;
}

TEST(ImageBatches, EachEpochShowsEveryImageOfTheShareOnce) {
  const auto batches = make_image_batches(images_of_one_pixel(8), {.workers = 2, .batch = 2});
  for (std::uint64_t step = 0; step < 6; step += 2) {
    std::vector<std::int64_t> seen;
    for (const std::uint64_t at : {step, step + 1}) {
      const torch::Tensor targets = batches->at(1, at).targets;
      seen.push_back(targets[0].item<std::int64_t>());
      seen.push_back(targets[1].item<std::int64_t>());
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_THAT(seen, ::testing::ElementsAre(1, 3, 5, 7));
  }
}

// A reader that starts at a step, or goes back to one, sees the same batches as a run from the
// start.
TEST(ImageBatches, AStepIsTheSameInWhateverOrderStepsAreAskedFor) {
  const ImageBatchOptions options{.workers = 2, .batch = 4, .seed = 3, .augment = true};
  const auto in_order = make_image_batches(draw_digits(40, 1), options);
  const auto other = make_image_batches(draw_digits(40, 1), options);
  std::vector<Batch> expected;
  for (std::uint64_t step = 0; step < 20; ++step) expected.push_back(in_order->at(1, step));
  for (const std::uint64_t step : {17, 3, 3, 19, 0, 5}) {
    const Batch batch = other->at(1, step);
    EXPECT_TRUE(torch::equal(batch.inputs, expected[step].inputs)) << step;
    EXPECT_TRUE(torch::equal(batch.targets, expected[step].targets)) << step;
  }
}

// One image, marked in one pixel, so that each move can be read off.
TEST(ImageBatches, AugmentationMovesByAnEighthAndMirrorsOnlyWhatMayBe) {
  for (const bool may_be_mirrored : {false, true}) {
    ImageSet set{.height = 16, .width = 16, .mirrored_alike = may_be_mirrored};
    set.labels = {0};
    set.pixels.assign(256, 0);
    set.pixels[5 * 16 + 4] = 255;
    const auto batches =
        make_image_batches(set, {.workers = 1, .batch = 1, .seed = 1, .augment = true});
    std::array<int, 16> rows{};
    std::array<int, 16> columns{};
    for (std::uint64_t step = 0; step < 300; ++step) {
      const auto at = batches->at(0, step).inputs.flatten().argmax().item<std::int64_t>();
      ++rows[at / 16];
      ++columns[at % 16];
    }
    // Row 5 and column 4 moved by -2..2; mirrored, column 4 becomes 11.
    for (int row = 0; row < 16; ++row) EXPECT_EQ(rows[row] > 0, row >= 3 && row <= 7) << row;
    for (int column = 0; column < 16; ++column) {
      const bool expected =
          (column >= 2 && column <= 6) || (may_be_mirrored && column >= 9 && column <= 13);
      EXPECT_EQ(columns[column] > 0, expected) << column << " " << may_be_mirrored;
    }
  }
}

TEST(ImageBatches, HeldOutImagesComeInOrderScaledByWhatWasLearntFrom) {
  const auto held_out =
      make_held_out_images(images_of_one_pixel(250), {{.mean = 10, .deviation = 2}});
  ASSERT_EQ(held_out->size(), 3U);
  EXPECT_EQ(held_out->at(2).targets.size(0), 50);
  EXPECT_EQ(held_out->at(1).targets[7].item<int>(), 107);
  EXPECT_EQ(held_out->at(1).inputs[7].item<float>(), (107 - 10) / 2.0F);
}

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
  // 3x3 convolutions, by input and output channels: 3-16, six 16-16, 16-32, five 32-32, 32-64, five
  // 64-64. Scale and shift for 7 x 16, 6 x 32 and 6 x 64 channels. The last layer 64 -> 10, with
  // biases.
  EXPECT_EQ(find_model("resnet20").parameters,
            9U * (3 * 16 + 6 * 16 * 16 + 16 * 32 + 5 * 32 * 32 + 32 * 64 + 5 * 64 * 64) +
                2U * (7 * 16 + 6 * 32 + 6 * 64) + 10U * 65);
}

TEST(Models, WidthScalesChannelsAndUnits) {
  const auto count = [](const char* name, double width) {
    std::size_t sum = 0;
    const auto model = make_model(name, width);
    for (const torch::Tensor& parameter : model->parameters())
      sum += static_cast<std::size_t>(parameter.numel());
    return sum;
  };
  // Width 0.5 leaves half of 64, 128, 256 and 512 channels. Each convolution and the hidden layer
  // then have a quarter of their weights. Half of the weights are left in the first convolution,
  // which keeps its three input channels, in the biases and in the last layer.
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
