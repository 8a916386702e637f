// Synthetic gradients as a whole, and their specs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "tests/base/support.h"
#include "tests/synthetic/ks.h"
#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kCaptured = THINPIPE_TEST_TRACE;

Trace synthetic(const std::string& rest) {
  return make_synthetic(parse_synthetic_spec("synthetic:" + rest));
}

std::vector<float> copy(const Trace& trace, std::size_t rank, std::size_t step,
                        std::size_t tensor = 0) {
  const auto values = trace.gradient(rank, step, tensor);
  return {values.begin(), values.end()};
}

TEST(Synthetic, HasTheModelsTensorsOrderAndTimes) {
  const Trace trace = synthetic("model=lenet5,workers=3,steps=5");
  EXPECT_TRUE(trace.generated());
  EXPECT_TRUE(trace.complete());
  EXPECT_EQ(trace.model(), "lenet5");
  EXPECT_EQ(trace.ranks(), 3U);
  EXPECT_EQ(trace.steps(), 5U);
  EXPECT_EQ(trace.elements(), 431'080U);
  EXPECT_EQ(trace.generated_bytes_per_rank(), 431'080U * 4);
  EXPECT_EQ(trace.tensors()[0].name, "conv1.weight");
  EXPECT_EQ(trace.tensors()[0].ready_order, 7U);
  const TraceStepTimes& times = trace.times(2, 4);
  EXPECT_GT(times.forward, 0);
  ASSERT_EQ(times.ready.size(), 8U);
  EXPECT_DOUBLE_EQ(times.ready[0], times.backward);
  EXPECT_LT(times.ready[7], times.ready[0]);
  EXPECT_TRUE(trace.squares(0, 0, 0).empty());
  for (std::size_t i = 0; i < trace.tensors().size(); ++i) {
    EXPECT_EQ(trace.gradient(0, 0, i).size(), trace.tensors()[i].elements);
  }
  EXPECT_THROW(trace.gradient(3, 0, 0), std::out_of_range);
  EXPECT_THROW(trace.gradient(0, 5, 0), std::out_of_range);
  EXPECT_THROW(trace.gradient(0, 0, 8), std::out_of_range);
}

TEST(Synthetic, IdentityIsTheCanonicalText) {
  EXPECT_EQ(synthetic("elements=10").identity(),
            "synthetic-3:elements=10,dist=laplace,scale=0.001,workers=4,steps=10,rho_step=0,rho_"
            "worker=0,seed=1");
  // The captured trace's content counts, not its location.
  const Trace fit = synthetic("dist=fit,trace=" + kCaptured);
  EXPECT_THAT(fit.identity(), HasSubstr("dist=fit,trace=sha256:"));
  EXPECT_EQ(fit.folder().string(), absolute_gradients("synthetic:dist=fit,trace=" + kCaptured));
}

TEST(Synthetic, OpensTextsAndFolders) {
  EXPECT_EQ(open_gradients("synthetic:elements=100").elements(), 100U);
  EXPECT_FALSE(open_gradients(kCaptured).generated());
  EXPECT_THAT(input_error([] { open_gradients("synthetic:elements=x"); }), HasSubstr("elements=x"));
  EXPECT_THAT(input_error([] { open_gradients("synthetic:dist=fit,trace=/nowhere"); }),
              HasSubstr("/nowhere"));
}

TEST(Synthetic, ValuesDoNotDependOnTheOrderTheyAreAskedIn) {
  for (const char* rho : {"", ",rho_step=0.7", ",rho_worker=0.4", ",rho_step=0.7,rho_worker=0.4"}) {
    const std::string text = std::string("elements=1000,workers=2,steps=4") + rho;
    const Trace forwards = synthetic(text), anyhow = synthetic(text);
    std::vector<std::vector<float>> steps;
    for (std::size_t step = 0; step < 4; ++step) steps.push_back(copy(forwards, 1, step));
    for (const std::size_t step : {3, 1, 1, 2, 0, 3}) {
      EXPECT_EQ(copy(anyhow, 1, step), steps[step]) << rho << " " << step;
    }
    anyhow.release(1);
    EXPECT_EQ(copy(anyhow, 1, 2), steps[2]) << rho;
    EXPECT_NE(steps[0], steps[1]) << rho;
    EXPECT_NE(copy(forwards, 0, 0), steps[0]) << rho;
    EXPECT_NE(copy(synthetic(text + ",seed=2"), 1, 0), steps[0]) << rho;
  }
}

// 2^18 elements: a correlation's standard error is below 0.002, more where tails are heavy.
TEST(Synthetic, CorrelationsAreAsAskedAndTheDistributionStays) {
  const std::vector<std::pair<std::string, ClosedForm>> families = {
      {"dist=laplace", {"laplace", {}}},
      {"dist=normal", {"normal", {}}},
      {"dist=gamma,shape=0.5", {"gamma", {.shape = 0.5}}},
      {"dist=bernoulli-gaussian,zeros=0.8", {"bernoulli-gaussian", {.zeros = 0.8}}}};
  for (const auto& [text, form] : families) {
    const Trace trace =
        synthetic("elements=262144,workers=2,steps=4,scale=1,rho_step=0.6,rho_worker=0.3," + text);
    const std::vector<float> first = copy(trace, 0, 1), second = copy(trace, 0, 2),
                             fourth = copy(trace, 0, 3), other = copy(trace, 1, 2);
    EXPECT_NEAR(correlation(first, second), 0.6, 0.02) << text;
    EXPECT_NEAR(correlation(second, other), 0.3, 0.02) << text;
    EXPECT_LT(correlation(first, fourth), 0.45) << text;
    EXPECT_GT(correlation(first, fourth), 0.25) << text;
    for (const auto& sample : {first, fourth, other}) {
      EXPECT_LT(ks_of_magnitudes(sample, form), ks_limit(sample.size())) << text;
    }
  }
}

TEST(Synthetic, IndependentUnlessAskedOtherwise) {
  const Trace trace = synthetic("elements=262144,workers=2,steps=2");
  EXPECT_NEAR(correlation(copy(trace, 0, 0), copy(trace, 0, 1)), 0, 0.01);
  EXPECT_NEAR(correlation(copy(trace, 0, 0), copy(trace, 1, 0)), 0, 0.01);
}

TEST(Synthetic, FitsEveryTensorOfACapturedTrace) {
  const Trace captured(kCaptured);
  for (const char* rho : {"", ",rho_step=0.3"}) {
    const Trace trace = synthetic("dist=fit,workers=8,steps=4,trace=" + kCaptured + rho);
    ASSERT_EQ(trace.tensors().size(), captured.tensors().size());
    EXPECT_EQ(trace.times(0, 0).forward, captured.times(0, 0).forward);
    for (std::size_t tensor = 0; tensor < trace.tensors().size(); ++tensor) {
      std::vector<float> real, drawn;
      const auto add = [&](const Trace& from, std::vector<float>& to, std::size_t steps) {
        for (std::size_t rank = 0; rank < from.ranks(); ++rank) {
          for (std::size_t step = 0; step < steps; ++step) {
            const auto values = from.gradient(rank, step, tensor);
            to.insert(to.end(), values.begin(), values.end());
          }
        }
      };
      add(captured, real, captured.steps());
      add(trace, drawn, rho[0] == '\0' ? 4 : 1);  // correlated steps are no independent draws
      // The fit is the captured sample itself: only the drawn one scatters. 0.002 for the pieces.
      EXPECT_LT(ks_of_two(real, drawn), ks_limit(drawn.size()) + 0.002)
          << trace.tensors()[tensor].name << rho;
    }
  }
}

TEST(Synthetic, MatchesTensorsByKindAndDepth) {
  const auto tensors = [](std::initializer_list<int> axes) {
    std::vector<TraceTensor> made;
    for (const int count : axes) made.push_back({"", std::vector<std::int64_t>(count, 2), 0, 0});
    return made;
  };
  EXPECT_THAT(match_tensors(tensors({2, 1, 4, 1, 2, 1}), tensors({2, 1, 2, 1})),
              ElementsAre(0, 1, 2, 3, 2, 3));
  EXPECT_THAT(match_tensors(tensors({2, 1}), tensors({1, 1})), ElementsAre(0, 0));
  EXPECT_THAT(match_tensors(tensors({1, 1, 1}), tensors({2, 1})), ElementsAre(1, 1, 1));
}

TEST(Synthetic, FitOfAnotherModelOrSize) {
  const Trace model = synthetic("model=resnet20,dist=fit,trace=" + kCaptured);
  EXPECT_EQ(model.elements(), 269'722U);
  EXPECT_EQ(model.model(), "resnet20");
  EXPECT_EQ(synthetic("elements=5000,dist=fit,trace=" + kCaptured).elements(), 5000U);
}

TEST(Synthetic, ShapesAreNearlySquare) {
  EXPECT_EQ(nearly_square(26000000), (std::vector<std::int64_t>{5000, 5200}));
  EXPECT_EQ(nearly_square(12), (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(nearly_square(13), (std::vector<std::int64_t>{13}));
  EXPECT_EQ(nearly_square(1), (std::vector<std::int64_t>{1}));
}

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
  EXPECT_THAT(error(""), HasSubstr("expected key=value, found ''"));
  EXPECT_THAT(error("dist=normal"), HasSubstr("expected model=NAME"));
  EXPECT_THAT(error("model=vgg18"), HasSubstr("did you mean 'vgg16'?"));
  EXPECT_THAT(error("model=vgg19,elements=5"), HasSubstr("exclude each other"));
  EXPECT_THAT(error("elements=0"), HasSubstr("elements=0: expected a whole number from 1"));
  EXPECT_THAT(error("elements=2000g"), HasSubstr("elements=2000g"));
  EXPECT_THAT(error("elements=k"), HasSubstr("elements=k"));
  EXPECT_THAT(error("elements=5,dist=lapalce"), HasSubstr("did you mean 'laplace'?"));
  EXPECT_THAT(error("elements=5,shape=2"), HasSubstr("unknown key 'shape'"));
  EXPECT_THAT(error("elements=5,sclae=2"), HasSubstr("did you mean 'scale'?"));
  EXPECT_THAT(error("elements=5,scale=nan"), HasSubstr("scale=nan: expected a number from 1e-10"));
  EXPECT_THAT(error("elements=5,rho_step=1"),
              HasSubstr("rho_step=1: expected a number from 0 to 0.999"));
  EXPECT_THAT(error("elements=5,seed=1,seed=2"), HasSubstr("seed is given twice"));
  EXPECT_THAT(error("elements=5,seed="), HasSubstr("expected key=value, found 'seed='"));
  EXPECT_THAT(error("elements=5,workers=0"), HasSubstr("workers=0"));
  EXPECT_THAT(error("dist=fit"), HasSubstr("needs trace=FOLDER"));
  EXPECT_THAT(error("dist=fit,trace=/a,scale=2"), HasSubstr("unknown key 'scale'"));
  EXPECT_THAT(error("elements=5,dist=student,dof=2,rho_step=0.1"), HasSubstr("finite variance"));
  EXPECT_THAT(error("elements=5,zeros=1"), HasSubstr("zeros=1: expected a fraction"));
}

}  // namespace

}  // namespace thinpipe
