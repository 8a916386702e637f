#include "workloads/capture/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/input_error.h"
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
  // Three steps of warm-up and 1 + 2 * 5 = 11 steps of record: 14 in all.
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

}  // namespace
}  // namespace thinpipe
