// Trainings: options, checkpoints to go on from, and series of losses.
#include "harness/train/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "harness/train/options.h"
#include "harness/train/series.h"
#include "harness/train/train_point.h"
#include "tests/base/support.h"
#include "workloads/capture/options.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> some_bytes(std::size_t count, int seed) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>(static_cast<int>(i) * 7 + seed);
  return bytes;
}

TEST(RankStateFile, GivesBackWhatItWasGiven) {
  const TemporaryFolder folder;
  const fs::path file = folder / "rank-1";
  const RankState state{42, some_bytes(1000, 1), some_bytes(77, 2), {}};
  write_rank_state(file, "point|rank 1", state);
  const RankState found = read_rank_state(file, "point|rank 1");
  EXPECT_EQ(found.next_step, 42U);
  EXPECT_EQ(found.learner, state.learner);
  EXPECT_EQ(found.compressors, state.compressors);
  EXPECT_EQ(found.estimate, state.estimate);
}

TEST(RankStateFile, RefusesWhatIsDamagedOrAnothers) {
  const TemporaryFolder folder;
  const fs::path file = folder / "rank";
  EXPECT_THROW(read_rank_state(file, "a"), InputError);
  write_rank_state(file, "a", {1, some_bytes(20, 1), some_bytes(5, 2), some_bytes(4, 3)});
  EXPECT_THROW(read_rank_state(file, "b"), InputError);
  const std::string text = read_bytes(file);
  const auto refused = [&](const std::string& bytes) {
    write_bytes(file, bytes);
    EXPECT_THROW(read_rank_state(file, "a"), InputError);
  };
  for (std::size_t size = 0; size < text.size(); ++size) refused(text.substr(0, size));
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string other = text;
    other[at] = static_cast<char>(other[at] ^ 4);
    refused(other);
  }
}

// As train_point() leaves it after so many steps.
nlohmann::json point_after(std::uint64_t steps) {
  TrainSeries series;
  for (auto* of_steps : {&series.loss, &series.seconds, &series.bytes}) of_steps->assign(steps, 1);
  return {{"series", series.to_json()},
          {"worst_error", 0.0},
          {"checked_steps", 1},
          {"digest", "00"},
          {"resumed", nlohmann::json::array()}};
}

TEST(CheckpointsOfAPoint, TheLastWholeOneIsFoundAndOlderOnesGo) {
  const TemporaryFolder folder;
  const Checkpoints checkpoints(folder / "out", "topk|rate=1mbit");
  EXPECT_FALSE(checkpoints.last());
  checkpoints.begin(10);
  EXPECT_FALSE(checkpoints.last());  // not whole yet
  checkpoints.finish(10, point_after(10));
  ASSERT_TRUE(checkpoints.last());
  EXPECT_EQ(checkpoints.last()->next_step, 10U);
  checkpoints.begin(20);  // interrupted while it is written
  EXPECT_EQ(checkpoints.last()->next_step, 10U);
  EXPECT_EQ(checkpoints.point_of(*checkpoints.last()).at("series").at("loss").size(), 10U);
  checkpoints.begin(100);
  checkpoints.finish(100, point_after(100));
  EXPECT_EQ(checkpoints.last()->next_step, 100U);
  EXPECT_EQ(std::distance(fs::directory_iterator(checkpoints.folder()), {}), 1);
  const Checkpoints other(folder / "out", "none|rate=1mbit");
  EXPECT_FALSE(other.last());
  checkpoints.remove();
  EXPECT_FALSE(fs::exists(folder / "out" / "checkpoints"));
}

TEST(CheckpointsOfAPoint, APointFileOfAnotherPointIsRefused) {
  const TemporaryFolder folder;
  const Checkpoints checkpoints(folder.path(), "topk");
  checkpoints.begin(1);
  checkpoints.finish(1, point_after(1));
  const auto found = *checkpoints.last();
  for (const char* text : {"", "{}", "[1]", R"({"id":"other","series":1})"}) {
    std::ofstream(found.folder / "point.json", std::ios::trunc) << text;
    EXPECT_THROW(checkpoints.point_of(found), InputError) << text;
  }
}

// The error names the file and the remedy, before anything is started.
TEST(CheckpointsOfAPoint, WhatIsMissingOrDamagedIsNamed) {
  const TemporaryFolder folder;
  const Checkpoints checkpoints(folder.path(), "topk");
  checkpoints.check_last("of", 2);  // none exists
  const fs::path partial = checkpoints.begin(3);
  for (int rank = 0; rank < 2; ++rank)
    write_rank_state(rank_file(partial, rank), rank_identity("of", rank), {3, {}, {}, {}});
  checkpoints.finish(3, point_after(3));
  checkpoints.check_last("of", 2);
  const fs::path whole = checkpoints.last()->folder;
  const auto complaint = [&](const std::string& identity, int hosts) {
    return input_error([&] { checkpoints.check_last(identity, hosts); });
  };
  const auto expect = [&](const std::string& found, const fs::path& file, const char* why) {
    EXPECT_TRUE(found.starts_with(file.string())) << found;
    EXPECT_NE(found.find(why), std::string::npos) << found;
    EXPECT_NE(found.find("remove " + checkpoints.folder().string()), std::string::npos) << found;
  };
  expect(complaint("other", 2), whole / "rank-0", "of|rank 0");
  expect(complaint("of", 3), whole / "rank-2", "No such file");
  write_rank_state(whole / "rank-1", rank_identity("of", 1), {4, {}, {}, {}});
  expect(complaint("of", 2), whole / "rank-1", "after 4 steps, expected 3");
  fs::resize_file(whole / "rank-0", 20);
  expect(complaint("of", 2), whole / "rank-0", "damaged");
  const auto rewritten = [&](const nlohmann::json& point) {
    std::ofstream(whole / "point.json", std::ios::trunc) << point.dump();
    return complaint("of", 2);
  };
  nlohmann::json point = point_after(2);
  point["id"] = "topk";
  expect(rewritten(point), whole / "point.json", "after 2 steps, expected 3");
  point.erase("digest");
  point["series"] = point_after(3).at("series");
  expect(rewritten(point), whole / "point.json", "digest");
  fs::remove(whole / "point.json");
  expect(complaint("of", 2), whole / "point.json", "No such file");
}

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

// A training is not resumed with options that change its result.
TEST(TrainingIdentity, HasEveryOptionThatDecidesTheResult) {
  const nlohmann::json plain = {{"model", "vgg16-cifar"}, {"updates", true}};
  std::set<std::string> identities = {training_identity(parse_learner_options(plain))};
  for (const auto& [option, value] :
       {std::pair<const char*, nlohmann::json>{"model", "lenet5"},
        {"width", 0.5},
        {"data", "/elsewhere"},
        {"batch", 7},
        {"optimiser", "sgd:lr=0.3,momentum=0.9"},
        {"schedule", "cosine"},
        {"clip", 1},
        {"local_clip", 1},
        {"updates", false},
        {"mask_momentum", true},
        {"augment", true}}) {
    nlohmann::json other = plain;
    other[option] = value;
    EXPECT_TRUE(identities.insert(training_identity(parse_learner_options(other))).second)
        << option;
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

// Second moments cost a backward pass for every sample, and change the identity of a learner's
// checkpoint: a point's must not depend on the sweep's other compressors.
TEST(TrainOptions, SecondMomentsAreForPointsThatNeedThem) {
  TrainOptions options;
  options.learner.squares = true;  // of some other point
  SweepPoint point;
  for (const char* spec : {"variance", "conv*:none;*:hybrid:tau=0.1"}) {
    point.compressor = CompressorRules::parse(spec);
    EXPECT_TRUE(learner_of(point, options).squares) << spec;
  }
  point.compressor = CompressorRules::parse("topk:ratio=0.1");
  EXPECT_FALSE(learner_of(point, options).squares);
}

// A training that was killed leaves steps without a trace.json. Only a resumed training replaces
// them; a new one would meet them in the middle of its first point.
TEST(CaptureFolder, MustBeNewOrEmptyUnlessATrainingIsResumed) {
  const TemporaryFolder folder;
  const fs::path capture = folder / "topk";
  const auto refuses = [&](bool resumes) {
    return !input_error([&] { check_capture_folder(capture, resumes); }).empty();
  };
  EXPECT_FALSE(refuses(false));
  EXPECT_FALSE(refuses(true));
  fs::create_directories(capture);
  EXPECT_FALSE(refuses(false));
  write_bytes(capture / "step-00000009.safetensors", "x");
  EXPECT_TRUE(refuses(false));
  EXPECT_FALSE(refuses(true));
  write_bytes(capture / "trace.json", "{}");
  EXPECT_TRUE(refuses(true));
}

TEST(TrainTarget, ReadsWhatItWrites) {
  for (const char* text : {"acc=0.9", "loss=0.1", "ppl=20", "acc=1", "loss=0"})
    EXPECT_EQ(Target::parse(text).to_string(), text);
  for (const char* text : {"", "acc", "acc=", "acc=0", "acc=1.1", "acc=0.9x", "ppl=0.5", "loss=-1",
                           "loss=nan", "accuracy=0.9", "0.9"})
    EXPECT_THROW(Target::parse(text), InputError) << text;
}

TEST(TrainTarget, AccuracyIsReachedFromBelow) {
  EXPECT_TRUE(Target::parse("acc=0.9").reached(0.9));
  EXPECT_FALSE(Target::parse("acc=0.9").reached(0.89));
  EXPECT_TRUE(Target::parse("ppl=20").reached(19));
  EXPECT_FALSE(Target::parse("loss=0.1").reached(0.11));
}

TrainSeries some_series() {
  TrainSeries series;
  series.loss = {2.5, 2, 1.5, 1};
  series.seconds = {0.1, 0.2, 0.3, 0.4};
  series.bytes = {10, 20, 30, 40};
  series.quality = {0.5, 2};
  series.held_out = {{2, 1.9, 0.5}, {4, 1.1, 0.75}};
  return series;
}

TEST(TrainSeriesTest, TimeToATargetIsThatOfTheFirstEvaluationThatReachesIt) {
  const TrainSeries series = some_series();
  EXPECT_EQ(series.reaching(Target::parse("acc=0.9")), nullptr);
  const HeldOut* reached = series.reaching(Target::parse("acc=0.4"));
  ASSERT_NE(reached, nullptr);
  EXPECT_EQ(reached->steps, 2U);
  EXPECT_NEAR(series.seconds_after(reached->steps), 0.3, 1e-12);
  EXPECT_EQ(series.bytes_after(reached->steps), 30);
  EXPECT_EQ(series.reaching(Target::parse("loss=1.2"))->steps, 4U);
}

TEST(TrainSeriesTest, GoesThroughACheckpointAndIntoARecord) {
  const auto json = nlohmann::json::parse(some_series().to_json().dump());
  const TrainSeries series = TrainSeries::from_json({json, "point.json"});
  EXPECT_EQ(series.to_json(), some_series().to_json());
  const nlohmann::json record = series.record(false);
  EXPECT_NEAR(record.at("seconds").at(3).get<double>(), 1.0, 1e-12);
  EXPECT_EQ(record.at("bytes"), (nlohmann::json{10, 30, 60, 100}));
  EXPECT_EQ(record.at("evaluations").at("accuracy"), (nlohmann::json{0.5, 0.75}));
  EXPECT_EQ(record.at("evaluations").at("bytes"), (nlohmann::json{30, 100}));
  EXPECT_TRUE(series.record(true).at("evaluations").contains("perplexity"));
}

TEST(TrainSeriesTest, RefusesWhatItWouldReadBeyond) {
  nlohmann::json json = some_series().to_json();
  json["held_out"][0][0] = 1000;  // steps that it has not
  EXPECT_THROW(TrainSeries::from_json({json, "point.json"}), InputError);
  json = some_series().to_json();
  json["seconds"].erase(0);
  EXPECT_THROW(TrainSeries::from_json({json, "point.json"}), InputError);
  json = some_series().to_json();
  json["loss"][0] = nullptr;  // as JSON has NaN
  EXPECT_TRUE(std::isnan(TrainSeries::from_json({json, "point.json"}).loss[0]));
}

TEST(TrainSeriesTest, RecordsHaveTheRatesFactorWhereItFell) {
  TrainSeries series = some_series();
  EXPECT_EQ(TrainSeries().rate_factor(), 1);
  EXPECT_FALSE(series.record(false).at("evaluations").contains("rate_factor"));
  series.held_out.back().rate_factor = 0.25;
  const nlohmann::json json = series.to_json();
  series = TrainSeries::from_json({json, "point.json"});
  EXPECT_EQ(series.rate_factor(), 0.25);
  EXPECT_EQ(series.record(false).at("evaluations").at("rate_factor"), (nlohmann::json{1, 0.25}));
  EXPECT_EQ(series.held_out_losses(), (std::vector<double>{1.9, 1.1}));
}

}  // namespace
}  // namespace thinpipe
