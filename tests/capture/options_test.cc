// Options of a capture and of a training with its optimiser and schedule, and the progress line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/base/support.h"
#include "workloads/capture/optimiser_spec.h"
#include "workloads/capture/options.h"
#include "workloads/capture/progress.h"
#include "workloads/models/catalogue.h"

namespace thinpipe {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json with_out(json object) {
  object["out"] = "trace";
  return object;
}

std::string error_of(const json& object) {
  return input_error([&] { parse_capture_options(object); });
}

TEST(CaptureOptions, DefaultsComeFromTheModel) {
  const CaptureOptions options = parse_capture_options(with_out({{"model", "charlstm"}}));
  const ModelInfo& model = find_model("charlstm");
  EXPECT_EQ(options.batch, model.training->batch);
  EXPECT_EQ(options.learning_rate, model.training->learning_rate);
  EXPECT_EQ(options.momentum, model.training->momentum);
  EXPECT_EQ(options.workers, 4U);
  EXPECT_EQ(parse_capture_options(with_out({{"batch", 3}, {"data", nullptr}})).batch, 3U);
}

TEST(CaptureOptions, RecordsTheLastStepsUnlessToldFromWhere) {
  const auto recorded = [](json object) {
    return parse_capture_options(with_out(std::move(object))).recorded_steps();
  };
  EXPECT_THAT(recorded({{"steps", 20}, {"record", 3}}), ElementsAre(17, 18, 19));
  EXPECT_THAT(recorded({{"steps", 20}, {"record", 3}, {"every", 5}}), ElementsAre(9, 14, 19));
  EXPECT_THAT(recorded({{"steps", 20}, {"record", 3}, {"every", 5}, {"from", 4}}),
              ElementsAre(4, 9, 14));
  EXPECT_THAT(recorded({{"steps", 4}, {"record", 1}}), ElementsAre(3));
}

TEST(CaptureOptions, RecordedStepsMustFitBetweenWarmUpAndEnd) {
  // The run needs three steps of warm-up, and 1 + 2 * 5 = 11 steps to record three steps, each five
  // after the other: 14 in all.
  EXPECT_THAT(error_of(with_out({{"steps", 13}, {"record", 3}, {"every", 5}})),
              HasSubstr("at least 14"));
  EXPECT_EQ(error_of(with_out({{"steps", 14}, {"record", 3}, {"every", 5}})), "");
  EXPECT_THAT(error_of(with_out({{"from", 2}})), HasSubstr("from: 2, expected 3 to 150"));
  EXPECT_THAT(error_of(with_out({{"from", 151}})), HasSubstr("from: 151, expected 3 to 150"));
  EXPECT_THAT(error_of(with_out({{"record", 1'000'000'000}, {"every", 1'000'000'000}})),
              HasSubstr("too few"));
}

TEST(CaptureOptions, WrongOnesAreNamed) {
  EXPECT_THAT(error_of(json::object()), HasSubstr("out"));
  EXPECT_THAT(error_of(json::array()), HasSubstr("expected an object"));
  EXPECT_THAT(error_of(with_out({{"model", "lenet"}})), HasSubstr("did you mean 'lenet5'"));
  EXPECT_THAT(error_of(with_out({{"worker", 2}})), HasSubstr("did you mean 'workers'"));
  EXPECT_THAT(error_of(with_out({{"workers", 0}})),
              HasSubstr("workers: expected an integer from 1 to 1024, found 0"));
  EXPECT_THAT(error_of(with_out({{"workers", "4"}})), HasSubstr("found \"4\""));
  EXPECT_THAT(error_of(with_out({{"steps", 3}})), HasSubstr("steps"));
  EXPECT_THAT(error_of(with_out({{"record", 0}})), HasSubstr("record"));
  EXPECT_THAT(error_of(with_out({{"every", 0}})), HasSubstr("every"));
  EXPECT_THAT(error_of(with_out({{"batch", 0}})), HasSubstr("batch"));
  EXPECT_THAT(error_of(with_out({{"learning_rate", 0}})), HasSubstr("learning_rate"));
  EXPECT_THAT(error_of(with_out({{"momentum", 1}})), HasSubstr("momentum"));
  EXPECT_THAT(error_of(with_out({{"weight_decay", -1}})), HasSubstr("weight_decay"));
  EXPECT_THAT(error_of(with_out({{"seed", -1}})), HasSubstr("seed"));
  EXPECT_THAT(error_of(with_out({{"json", "yes"}})), HasSubstr("json"));
  EXPECT_TRUE(parse_capture_options(with_out({{"squares", true}})).squares);
  EXPECT_THAT(error_of(with_out({{"squares", true}, {"model", "resnet20"}})),
              HasSubstr("squares: a sample of resnet20 has no gradient of its own"));
}

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
  EXPECT_FALSE(options.to_json().contains("local_clip"));
  const LearnerOptions clipped = parse_learner_options(
      {{"model", "lenet5"}, {"local_clip", 2}, {"updates", true}, {"mask_momentum", true}});
  EXPECT_EQ(clipped.local_clip, 2);
  const LearnerOptions again = parse_learner_options(clipped.to_json());
  EXPECT_TRUE(again.local_clip == 2 && again.updates && again.mask_momentum);
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
  EXPECT_THAT(learner_error({{"optimiser", "sgd"}}), HasSubstr("lr= is missing"));
  EXPECT_THAT(learner_error({{"schedule", "cosines"}}), HasSubstr("did you mean 'cosine'"));
  EXPECT_THAT(learner_error({{"clip", -1}}), HasSubstr("clip"));
  EXPECT_THAT(learner_error({{"local_clip", -1}}), HasSubstr("local_clip"));
  EXPECT_THAT(learner_error({{"local_clip", 1}, {"squares", true}}), HasSubstr("not clipped"));
  EXPECT_THAT(learner_error({{"mask_momentum", true}}), HasSubstr("expected updates"));
  EXPECT_THAT(
      learner_error({{"mask_momentum", true}, {"updates", true}, {"optimiser", "sgd:lr=1"}}),
      HasSubstr("has no momentum"));
  EXPECT_THAT(learner_error({{"model", "gpt"}, {"augment", true}}), HasSubstr("gpt learns text"));
  EXPECT_THAT(learner_error({{"model", "charlstm"}, {"squares", true}}),
              HasSubstr("expected a model without batch normalisation or carried state: gpt, "
                        "lenet5, vgg16-cifar"));
}

TEST(StepProgress, TimeLeft) {
  EXPECT_EQ(format_left(-1), "0:00");
  EXPECT_EQ(format_left(7.4), "0:07");
  EXPECT_EQ(format_left(754), "12:34");
  EXPECT_EQ(format_left(3723), "1:02:03");
}

TEST(StepProgress, LineHoldsBarCountNoteAndTimeLeft) {
  // Half done after 10 s, so 10 s are left.
  const std::string line = StepProgress::line("capture toy", 50, 100, "loss 1.250", 10);
  EXPECT_EQ(line.substr(0, 13), "capture toy [");
  EXPECT_NE(line.find(" 50% 50/100  loss 1.250  0:10 left"), std::string::npos) << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '#'),
            std::count(line.begin(), line.end(), '.') - 1)
      << line;  // the note contains one more dot
}

TEST(StepProgress, LineFitsTheTerminal) {
  for (const std::uint64_t done : {0ULL, 1ULL, 123'456'789ULL, 1'000'000'000ULL}) {
    for (const std::string& note : {std::string(), std::string("loss 1.2"), std::string(90, 'x')})
      EXPECT_LE(StepProgress::line("capture charlstm", done, 1'000'000'000, note, 1e6).size(), 79U);
  }
}

// Output on a stream for updates that come at once.
std::string written(bool terminal) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  {
    StepProgress progress("p", 3, stream, terminal);
    for (std::uint64_t done = 1; done <= 3; ++done) progress.update(done, "n");
  }
  std::fclose(stream);
  std::string result(text, size);
  std::free(text);
  return result;
}

TEST(StepProgress, PlainLinesWithoutControlCharactersWhereThereIsNoTerminal) {
  const std::string text = written(false);
  EXPECT_NE(text.find("3/3"), std::string::npos);
  EXPECT_EQ(text.back(), '\n');
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << int{c};
}

TEST(StepProgress, RedrawsOneLineOnATerminal) {
  const std::string text = written(true);
  EXPECT_EQ(text.front(), '\r');
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.back(), '\n');
}

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
  const OptimiserSpec signum = OptimiserSpec::parse("signum:lr=0.01,weight_decay=0.1");
  EXPECT_EQ(signum.rule, OptimiserSpec::Rule::kSignum);
  EXPECT_EQ(signum.momentum, 0);
  EXPECT_EQ(signum.weight_decay, 0.1);
}

TEST(OptimiserSpec, PrintsWhatParsesToTheSame) {
  for (const char* text :
       {"sgd:lr=0.1", "sgd:lr=1e-05,momentum=0.5,nesterov=1", "adam:epsilon=1e-10,lr=0.02",
        "adamw:weight_decay=0.1,beta2=0.95", "signum:lr=0.01,momentum=0.9"}) {
    const std::string printed = OptimiserSpec::parse(text).to_string();
    EXPECT_EQ(OptimiserSpec::parse(printed).to_string(), printed) << text;
  }
}

TEST(OptimiserSpec, WrongOnesAreNamed) {
  EXPECT_THAT(optimiser_error("sdg:lr=1"), HasSubstr("did you mean 'sgd'"));
  EXPECT_THAT(optimiser_error("sgd"), HasSubstr("lr= is missing"));
  EXPECT_THAT(optimiser_error("signum"), HasSubstr("lr= is missing"));
  EXPECT_THAT(optimiser_error("signum:lr=1,nesterov=1"), HasSubstr("unknown key 'nesterov'"));
  EXPECT_THAT(optimiser_error("sgd:lr=0"), HasSubstr("lr=0: expected a number"));
  EXPECT_THAT(optimiser_error("sgd:lr=nan"), HasSubstr("lr=nan: expected a number"));
  EXPECT_THAT(optimiser_error("sgd:lr=0.1x"), HasSubstr("lr=0.1x: expected a number"));
  EXPECT_THAT(optimiser_error("sgd:lr=1,momentum=1"),
              HasSubstr("momentum=1: expected a number from 0 to 0.9999999"));
  EXPECT_THAT(optimiser_error("sgd:lr=1,nesterov=1"), HasSubstr("without momentum"));
  EXPECT_THAT(optimiser_error("sgd:lr=1,nesterov=yes"),
              HasSubstr("nesterov=yes: expected one of 0, 1"));
  EXPECT_THAT(optimiser_error("sgd:lr=1,beta1=0.9"),
              HasSubstr("unknown key 'beta1' (known: weight_decay, lr, momentum, nesterov)"));
  EXPECT_THAT(optimiser_error("adam:momentun=0.9"), HasSubstr("unknown key 'momentun'"));
  EXPECT_THAT(optimiser_error("adam:lr"),
              HasSubstr("optimiser 'adam:lr': expected key=value, found 'lr'"));
}

double factor(const std::string& text, std::uint64_t step, std::uint64_t steps = 100) {
  return RateSchedule::parse(text, steps).factor(step);
}

std::string schedule_error(const std::string& text) {
  return input_error([&] { RateSchedule::parse(text, 100); });
}

TEST(RateSchedule, Constant) {
  EXPECT_EQ(factor("constant", 0), 1);
  EXPECT_EQ(factor("constant", 1'000'000), 1);
}

// As the ResNets': at half and at three quarters, in steps or as fractions.
TEST(RateSchedule, Steps) {
  for (const char* text : {"step:at=0.5/0.75", "step:at=50/75,factor=0.1"}) {
    EXPECT_EQ(factor(text, 49), 1) << text;
    EXPECT_EQ(factor(text, 50), 0.1) << text;
    EXPECT_EQ(factor(text, 74), 0.1) << text;
    EXPECT_DOUBLE_EQ(factor(text, 75), 0.01) << text;
    EXPECT_DOUBLE_EQ(factor(text, 500), 0.01) << text;
  }
}

TEST(RateSchedule, Decay) {
  EXPECT_EQ(factor("decay:every=10,factor=0.8,from=60", 59), 1);
  EXPECT_EQ(factor("decay:every=10,factor=0.8,from=60", 69), 1);
  EXPECT_DOUBLE_EQ(factor("decay:every=10,factor=0.8,from=60", 70), 0.8);
  EXPECT_DOUBLE_EQ(factor("decay:every=10,factor=0.8,from=60", 99), 0.8 * 0.8 * 0.8);
  // Tsuzuku et al.: halved every 25 of 300 epochs; after half of them, six times.
  EXPECT_DOUBLE_EQ(factor("decay:every=0.08333333333", 1800, 3600), 1.0 / 64);
  EXPECT_DOUBLE_EQ(factor("decay:every=0.0001,factor=0.5", 3), 0.125);  // no shorter than a step
}

TEST(RateSchedule, Cosine) {
  EXPECT_DOUBLE_EQ(factor("cosine", 0), 1);
  EXPECT_NEAR(factor("cosine", 50), 0.5, 1e-12);
  EXPECT_NEAR(factor("cosine:end=0.01", 50), 0.505, 1e-12);
  // (1 + cos(0.99 pi)) / 2 is about (0.01 pi / 2)^2.
  EXPECT_NEAR(factor("cosine", 99), 2.467e-4, 1e-6);
  EXPECT_EQ(factor("cosine", 500), factor("cosine", 99));
}

TEST(RateSchedule, PlateauIsNoFunctionOfTheStep) {
  const RateSchedule schedule = RateSchedule::parse("plateau:warmup=4", 100);
  ASSERT_TRUE(schedule.plateau());
  EXPECT_EQ(schedule.plateau()->after, 2U);
  EXPECT_DOUBLE_EQ(schedule.factor(1), 0.4);
  EXPECT_EQ(schedule.factor(99), 1);
  EXPECT_FALSE(RateSchedule::parse("constant", 100).plateau());
  EXPECT_THAT(schedule_error("plateau:after=1.5"), HasSubstr("after=1.5"));
  EXPECT_THAT(schedule_error("plateau:factor=2"), HasSubstr("factor"));
  EXPECT_THAT(schedule_error("plateau:timeout=2"), HasSubstr("timeout"));
}

TEST(Plateau, FallsAfterSoManyEvaluationsWithoutANewBest) {
  const Plateau plateau = {.after = 2, .factor = 0.5, .least = 0.2};
  const std::vector<double> losses = {3, 2, 2.5, 1.9, 1.9, 2, 2, 2, 1, 5, 5, 5, 5};
  //                        a new best:  *  *       *               *
  const std::vector<double> expected = {1, 1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2};
  for (std::size_t i = 0; i < losses.size(); ++i)
    EXPECT_EQ(plateau.factor_after(std::span(losses).first(i + 1)), expected[i]) << i;
  EXPECT_EQ(plateau.factor_after({}), 1);
}

TEST(RateSchedule, WarmUpGrowsInAStraightLine) {
  const std::string text = "constant:warmup=4";
  for (std::uint64_t step = 0; step < 4; ++step)
    EXPECT_DOUBLE_EQ(factor(text, step), static_cast<double>(step + 1) / 5);
  EXPECT_EQ(factor(text, 4), 1);
  EXPECT_DOUBLE_EQ(factor("constant:warmup=0.04,start=0.5", 0), 0.5 + 0.5 / 5);
  // The warm-up ends on the schedule's own value.
  EXPECT_DOUBLE_EQ(factor("cosine:warmup=50", 49), 50.0 / 51 * 0.5);
  EXPECT_NEAR(factor("cosine:warmup=50", 50), 0.5, 1e-12);
}

TEST(RateSchedule, WrongOnesAreNamed) {
  EXPECT_THAT(schedule_error("cosinus"), HasSubstr("did you mean 'cosine'"));
  EXPECT_THAT(schedule_error("step"), HasSubstr("at= is missing"));
  EXPECT_THAT(schedule_error("step:at=0.5/x"), HasSubstr("at=0.5/x: expected numbers"));
  EXPECT_THAT(schedule_error("step:at=0.5/"), HasSubstr("at=0.5/: expected numbers"));
  EXPECT_THAT(schedule_error("decay"), HasSubstr("every= is missing"));
  EXPECT_THAT(schedule_error("decay:every=0"), HasSubstr("every=0: expected a number"));
  EXPECT_THAT(schedule_error("cosine:factor=0.1"), HasSubstr("unknown key 'factor'"));
  EXPECT_THAT(schedule_error("constant:start=2"),
              HasSubstr("start=2: expected a number from 0 to 1"));
}

}  // namespace
}  // namespace thinpipe
