#include "harness/train/checkpoint.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "harness/train/series.h"
#include "tests/trace/temporary_folder.h"

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
  std::string text(fs::file_size(file), '\0');
  std::ifstream(file, std::ios::binary)
      .read(text.data(), static_cast<std::streamsize>(text.size()));
  const auto refused = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    EXPECT_THROW(read_rank_state(file, "a"), InputError);
  };
  for (std::size_t size = 0; size < text.size(); ++size) refused(text.substr(0, size));
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string other = text;
    other[at] = static_cast<char>(other[at] ^ 4);
    refused(other);
  }
}

// As TrainPoint leaves it after so many steps.
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

// Which file it is, and what to do, before anything is started.
TEST(CheckpointsOfAPoint, WhatIsMissingOrDamagedIsNamed) {
  const TemporaryFolder folder;
  const Checkpoints checkpoints(folder.path(), "topk");
  checkpoints.check_last("of", 2);  // there is none
  const fs::path partial = checkpoints.begin(3);
  for (int rank = 0; rank < 2; ++rank)
    write_rank_state(rank_file(partial, rank), rank_identity("of", rank), {3, {}, {}, {}});
  checkpoints.finish(3, point_after(3));
  checkpoints.check_last("of", 2);
  const fs::path whole = checkpoints.last()->folder;
  const auto complaint = [&](const std::string& identity, int hosts) -> std::string {
    try {
      checkpoints.check_last(identity, hosts);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
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

}  // namespace
}  // namespace thinpipe
