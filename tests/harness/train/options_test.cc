#include "harness/train/options.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(TrainOptions, ModelsOfTextAreJudgedByPerplexity) {
  TrainOptions options;
  for (const char* model : {"charlstm", "wordlstm", "gpt"}) {
    options.learner.model = model;
    EXPECT_TRUE(options.perplexity()) << model;
  }
  for (const char* model : {"lenet5", "resnet20", "resnet32", "vgg16-cifar"}) {
    options.learner.model = model;
    EXPECT_FALSE(options.perplexity()) << model;
  }
}

}  // namespace
}  // namespace thinpipe
