#include "workloads/capture/optimiser_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/input_error.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

std::string optimiser_error(const std::string& text) {
  return input_error([&] { OptimiserSpec::parse(text); });
}

TEST(OptimiserSpec, HoldsWhatIsWritten) {
  const OptimiserSpec sgd =
      OptimiserSpec::parse("sgd:lr=0.1,momentum=0.9,nesterov=1,weight_decay=5e-4");
  EXPECT_EQ(sgd.rule, OptimiserSpec::Rule::kSgd);
  EXPECT_EQ(sgd.learning_rate, 0.1);
  EXPECT_EQ(sgd.momentum, 0.9);
  EXPECT_TRUE(sgd.nesterov);
  EXPECT_EQ(sgd.weight_decay, 5e-4);
  const OptimiserSpec adam = OptimiserSpec::parse("adam");
  EXPECT_EQ(adam.learning_rate, 1e-3);
  EXPECT_EQ(adam.beta2, 0.999);
  EXPECT_EQ(OptimiserSpec::parse("adamw:lr=1,beta1=0.8").rule, OptimiserSpec::Rule::kAdamW);
}

TEST(OptimiserSpec, PrintsWhatParsesToTheSame) {
  for (const char* text : {"sgd:lr=0.1", "sgd:lr=1e-05,momentum=0.5,nesterov=1",
                           "adam:epsilon=1e-10,lr=0.02", "adamw:weight_decay=0.1,beta2=0.95"}) {
    const std::string printed = OptimiserSpec::parse(text).to_string();
    EXPECT_EQ(OptimiserSpec::parse(printed).to_string(), printed) << text;
  }
}

TEST(OptimiserSpec, WrongOnesAreNamed) {
  EXPECT_THAT(optimiser_error("sdg:lr=1"), HasSubstr("did you mean 'sgd'"));
  EXPECT_THAT(optimiser_error("sgd"), HasSubstr("lr is missing"));
  EXPECT_THAT(optimiser_error("sgd:lr=0"), HasSubstr("lr: found '0'"));
  EXPECT_THAT(optimiser_error("sgd:lr=nan"), HasSubstr("lr: found 'nan'"));
  EXPECT_THAT(optimiser_error("sgd:lr=0.1x"), HasSubstr("found '0.1x'"));
  EXPECT_THAT(optimiser_error("sgd:lr=1,momentum=1"), HasSubstr("momentum: found '1'"));
  EXPECT_THAT(optimiser_error("sgd:lr=1,nesterov=1"), HasSubstr("without momentum"));
  EXPECT_THAT(optimiser_error("sgd:lr=1,nesterov=yes"), HasSubstr("expected 0 or 1"));
  EXPECT_THAT(optimiser_error("sgd:lr=1,beta1=0.9"), HasSubstr("'beta1' is not known"));
  EXPECT_THAT(optimiser_error("adam:momentun=0.9"), HasSubstr("'momentun' is not known"));
  EXPECT_THAT(optimiser_error("adam:lr"), HasSubstr("optimiser: spec 'adam:lr'"));
}

}  // namespace
}  // namespace thinpipe
