#include "workloads/capture/learner_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/base/input_error.h"
#include "workloads/models/catalogue.h"

namespace thinpipe {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::string learner_error(json object) {
  if (!object.contains("model")) object["model"] = "lenet5";
  return input_error([&] { parse_learner_options(object); });
}

TEST(LearnerOptions, DefaultsComeFromTheModel) {
  for (const std::string& name : trainable_models()) {
    const LearnerOptions options = parse_learner_options({{"model", name}});
    EXPECT_EQ(options.batch, find_model(name).training->batch);
    EXPECT_THAT(options.optimiser, HasSubstr("sgd:lr="));
    // All that can be written is written, and reads as the same.
    EXPECT_EQ(parse_learner_options(options.to_json()).to_json(), options.to_json());
  }
}

TEST(LearnerOptions, HoldWhatIsWritten) {
  const LearnerOptions options = parse_learner_options({{"model", "vgg16-cifar"},
                                                        {"width", 0.25},
                                                        {"workers", 8},
                                                        {"batch", 64},
                                                        {"seed", 7},
                                                        {"steps", 300},
                                                        {"optimiser", "adam"},
                                                        {"schedule", "cosine:warmup=0.1"},
                                                        {"clip", 1.5},
                                                        {"augment", true},
                                                        {"squares", true},
                                                        {"data", nullptr}});
  EXPECT_EQ(options.width, 0.25);
  EXPECT_EQ(options.workers, 8U);
  EXPECT_EQ(options.steps, 300U);
  EXPECT_EQ(options.clip, 1.5);
  EXPECT_TRUE(options.augment && options.squares);
}

TEST(LearnerOptions, WrongOnesAreNamed) {
  EXPECT_THAT(learner_error({{"model", "vgg16-cfar"}}), HasSubstr("did you mean 'vgg16-cifar'"));
  EXPECT_THAT(learner_error({{"model", "vgg19"}}), HasSubstr("'vgg19' is unknown"));
  EXPECT_THAT(learner_error({{"width", 0.5}}), HasSubstr("lenet5 has one width only"));
  EXPECT_THAT(learner_error({{"model", "gpt"}, {"width", 0}}), HasSubstr("width"));
  EXPECT_THAT(learner_error({{"workers", 0}}), HasSubstr("train: workers"));
  EXPECT_THAT(learner_error({{"steps", 0}}), HasSubstr("train: steps"));
  EXPECT_THAT(learner_error({{"optimizer", "sgd"}}), HasSubstr("did you mean 'optimiser'"));
  EXPECT_THAT(learner_error({{"optimiser", "sgd"}}), HasSubstr("lr is missing"));
  EXPECT_THAT(learner_error({{"schedule", "cosines"}}), HasSubstr("did you mean 'cosine'"));
  EXPECT_THAT(learner_error({{"clip", -1}}), HasSubstr("clip"));
  EXPECT_THAT(learner_error({{"model", "gpt"}, {"augment", true}}), HasSubstr("gpt learns text"));
  EXPECT_THAT(learner_error({{"model", "charlstm"}, {"squares", true}}),
              HasSubstr("expected a model without batch normalisation or carried state: gpt, "
                        "lenet5, vgg16-cifar"));
}

}  // namespace
}  // namespace thinpipe
