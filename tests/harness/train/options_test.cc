#include "harness/train/options.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace thinpipe {
namespace {

TEST(ModelDescriptionTest, GoesThroughJsonAndIsStretched) {
  ModelDescription model;
  model.data = "digits";
  model.tensors = {{"a", {2, 3}, 6, 1}, {"b", {4}, 4, 0}};
  model.times.forward = 0.01;
  model.times.backward = 0.03;
  model.times.ready = {0.03, 0.01};
  model.measured = 5;
  const nlohmann::json json = model.to_json();
  ModelDescription found = ModelDescription::from_json({json, "model.json"});
  EXPECT_EQ(found.to_json(), model.to_json());
  EXPECT_EQ(found.elements(), 10U);
  found.set_compute_time(0.4);
  EXPECT_NEAR(found.times.compute(), 0.4, 1e-12);
  EXPECT_NEAR(found.times.ready[1], 0.1, 1e-12);
  EXPECT_EQ(found.measured, 0);
  for (const auto& [key, value] : {std::pair<const char*, nlohmann::json>{"ready", {1}},
                                   {"data", 1},
                                   {"forward", -1},
                                   {"backward", 1e300},
                                   {"tensors", {{{"name", "a"}, {"shape", {-2}}}}},
                                   {"measured", "five"}}) {
    nlohmann::json bad = json;
    bad[key] = value;
    EXPECT_THROW(ModelDescription::from_json({bad, "model.json"}), InputError) << key;
    bad.erase(key);
    EXPECT_THROW(ModelDescription::from_json({bad, "model.json"}), InputError) << key;
  }
}

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
