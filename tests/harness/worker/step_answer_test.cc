// Answers of ranks arrive as they were measured.
#include "harness/worker/step_answer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace thinpipe {
namespace {

using nlohmann::json;

// No two fields alike.
WorkerStep some_step() {
  WorkerStep step;
  int number = 0;
  for (const StepField& field : step_fields())
    std::visit([&](auto member) { step.*member = ++number; }, field.member);
  step.timeline = {{Phase::kCompute, 0, 0.0, 0.25},
                   {Phase::kCompress, 1, 0.25, 0.5},
                   {Phase::kExchange, 2, 0.5, 0.75},
                   {Phase::kDecode, 3, 0.75, 1.0}};
  step.sent = {7, 8, 9};
  step.processors = {10, 11};
  return step;
}

json through_text(const json& message) { return json::parse(message.dump()); }

TEST(StepAnswer, AWorkersArrivesWhole) {
  const WorkerStep sent = some_step();
  const StepAnswers got = step_answers({through_text(stepped(sent))}, 1);
  ASSERT_EQ(got.workers.size(), 1U);
  EXPECT_TRUE(got.servers.empty());
  const WorkerStep& step = got.workers[0];
  for (const StepField& field : step_fields())
    EXPECT_EQ(field.of(step), field.of(sent)) << field.name;
  ASSERT_EQ(step.timeline.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(step.timeline[i].phase, sent.timeline[i].phase);
    EXPECT_EQ(step.timeline[i].bucket, sent.timeline[i].bucket);
    EXPECT_EQ(step.timeline[i].begin, sent.timeline[i].begin);
    EXPECT_EQ(step.timeline[i].end, sent.timeline[i].end);
  }
  EXPECT_EQ(step.sent.messages, 7U);
  EXPECT_EQ(step.sent.bytes, 8U);
  EXPECT_EQ(step.sent.frames, 9U);
  EXPECT_EQ(step.processors.idle, 10);
  EXPECT_EQ(step.processors.all, 11);
}

TEST(StepAnswer, AServersComesAfterTheWorkers) {
  ServerStep sent;
  sent.total = 1;
  sent.decode = 2;
  sent.compress = 3;
  sent.push_bytes = 4;
  sent.pull_bytes = 5;
  sent.served = {{6, {7, 8.0, 9.0, 10.0}}};
  sent.sent = {11, 12, 13};
  const StepAnswers got =
      step_answers({through_text(stepped(some_step())), through_text(stepped(sent))}, 1);
  EXPECT_EQ(got.workers.size(), 1U);
  ASSERT_EQ(got.servers.size(), 1U);
  const ServerStep& step = got.servers[0];
  EXPECT_EQ(step.total, 1);
  EXPECT_EQ(step.decode, 2);
  EXPECT_EQ(step.compress, 3);
  EXPECT_EQ(step.push_bytes, 4U);
  EXPECT_EQ(step.pull_bytes, 5U);
  EXPECT_EQ(step.sent.bytes, 12U);
  ASSERT_EQ(step.served.size(), 1U);
  EXPECT_EQ(step.served[0].bucket, 6U);
  EXPECT_EQ(step.served[0].unit.last, 7);
  EXPECT_EQ(step.served[0].unit.arrived, 8);
  EXPECT_EQ(step.served[0].unit.averaged, 9);
  EXPECT_EQ(step.served[0].unit.answered, 10);
}

// A row of two members, or a member of two rows, would pass the test above.
TEST(StepAnswer, EachFieldIsThereOnce) {
  for (const StepField& field : step_fields()) {
    WorkerStep step;
    std::visit([&](auto member) { step.*member = 1; }, field.member);
    for (const StepField& other : step_fields())
      if (&other != &field) {
        EXPECT_STRNE(other.name, field.name);
        EXPECT_EQ(other.of(step), other.of(WorkerStep{})) << field.name << " and " << other.name;
      }
  }
}

TEST(PerRank, HasEveryRanksOwnSteps) {
  std::vector<StepAnswers> steps(2);
  double number = 0;
  for (StepAnswers& step : steps) {
    step.workers.resize(2);
    for (WorkerStep& worker : step.workers) {
      worker.compute = ++number;
      worker.payload_bytes = 1000;
    }
  }
  const json ranks = per_rank(steps);
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0]["compute"], json({1.0, 3.0}));
  EXPECT_EQ(ranks[1]["compute"], json({2.0, 4.0}));
  EXPECT_EQ(ranks[1]["payload_bytes"], json({1000, 1000}));
  EXPECT_FALSE(ranks[1].contains("late"));
}

}  // namespace
}  // namespace thinpipe
