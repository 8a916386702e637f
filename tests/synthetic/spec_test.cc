#include "workloads/synthetic/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/input_error.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

TEST(SyntheticSpec, CanonicalTextHasEverythingThatMeansSomething) {
  const auto canonical = [](const char* text) { return parse_synthetic_spec(text).to_string(); };
  EXPECT_EQ(canonical("synthetic:model=vgg19"),
            "synthetic:model=vgg19,dist=laplace,scale=0.001,workers=4,steps=10,rho_step=0,rho_"
            "worker=0,seed=1");
  EXPECT_EQ(canonical("synthetic:seed=7,dist=gamma,elements=26m,rho_step=0.5,workers=2"),
            "synthetic:elements=26000000,dist=gamma,shape=0.5,scale=0.001,workers=2,steps=10,rho_"
            "step=0.5,rho_worker=0,seed=7");
  EXPECT_EQ(canonical("synthetic:dist=fit,trace=/a/b=c,steps=3"),
            "synthetic:dist=fit,trace=/a/b=c,workers=4,steps=3,rho_step=0,rho_worker=0,seed=1");
  for (const char* text :
       {"synthetic:elements=5,dist=student,dof=2.5", "synthetic:elements=5,dist=gpareto,shape=0.45",
        "synthetic:elements=5,dist=bernoulli-gaussian", "synthetic:model=lenet5,zeros=0.25"}) {
    EXPECT_EQ(canonical(canonical(text).c_str()), canonical(text));
  }
  EXPECT_TRUE(is_synthetic("synthetic:x"));
  EXPECT_FALSE(is_synthetic("folder/synthetic:x"));
}

TEST(SyntheticSpec, NamesWhatIsWrong) {
  const auto error = [](const std::string& text) {
    return input_error([&] { parse_synthetic_spec("synthetic:" + text); });
  };
  EXPECT_THAT(error(""), HasSubstr("'' is not key=value"));
  EXPECT_THAT(error("dist=normal"), HasSubstr("expected model=NAME"));
  EXPECT_THAT(error("model=vgg18"), HasSubstr("did you mean 'vgg16'?"));
  EXPECT_THAT(error("model=vgg19,elements=5"), HasSubstr("exclude each other"));
  EXPECT_THAT(error("elements=0"), HasSubstr("elements=0: expected a whole number from 1"));
  EXPECT_THAT(error("elements=2000g"), HasSubstr("elements=2000g"));
  EXPECT_THAT(error("elements=k"), HasSubstr("elements=k"));
  EXPECT_THAT(error("elements=5,dist=lapalce"), HasSubstr("did you mean 'laplace'?"));
  EXPECT_THAT(error("elements=5,shape=2"), HasSubstr("'shape' is no key of this distribution"));
  EXPECT_THAT(error("elements=5,sclae=2"), HasSubstr("did you mean 'scale'?"));
  EXPECT_THAT(error("elements=5,scale=nan"), HasSubstr("scale=nan: expected a number from 1e-10"));
  EXPECT_THAT(error("elements=5,rho_step=1"), HasSubstr("expected a correlation from 0 to 0.999"));
  EXPECT_THAT(error("elements=5,seed=1,seed=2"), HasSubstr("'seed' is given twice"));
  EXPECT_THAT(error("elements=5,seed="), HasSubstr("'seed=' is not key=value"));
  EXPECT_THAT(error("elements=5,workers=0"), HasSubstr("workers=0"));
  EXPECT_THAT(error("dist=fit"), HasSubstr("needs trace=FOLDER"));
  EXPECT_THAT(error("dist=fit,trace=/a,scale=2"), HasSubstr("'scale' is no key"));
  EXPECT_THAT(error("elements=5,dist=student,dof=2,rho_step=0.1"), HasSubstr("finite variance"));
  EXPECT_THAT(error("elements=5,zeros=1"), HasSubstr("zeros=1: expected a share"));
}

}  // namespace
}  // namespace thinpipe
