#include "workloads/trace/partial_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "tests/trace/temporary_folder.h"
#include "tests/trace/trace_files.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(PartialFile, AppearsWholeOrNotAtAll) {
  const TemporaryFolder folder;
  {
    PartialFile file(folder / "a");
    file.write("half");
    EXPECT_FALSE(fs::exists(folder / "a"));
  }
  EXPECT_EQ(files_in(folder.path()), 0U);
  {
    PartialFile file(folder / "a");
    file.write("whole");
    EXPECT_EQ(file.size(), 5U);
    file.commit();
  }
  EXPECT_EQ(read_bytes(folder / "a"), "whole");
  EXPECT_EQ(files_in(folder.path()), 1U);
}

TEST(PartialFile, ReplacesTheOldFileAtCommitOnly) {
  const TemporaryFolder folder;
  write_bytes(folder / "a", "old");
  PartialFile file(folder / "a");
  file.write("new");
  EXPECT_EQ(read_bytes(folder / "a"), "old");
  PartialFile moved(std::move(file));
  moved.commit();
  EXPECT_EQ(read_bytes(folder / "a"), "new");
  EXPECT_EQ(files_in(folder.path()), 1U);
}

TEST(PartialFile, ALeftoverOfAnEarlierWriterIsNoObstacle) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.partial", "left over");
  PartialFile file(folder / "a");
  file.write("new");
  file.commit();
  EXPECT_EQ(read_bytes(folder / "a"), "new");
}

TEST(PartialFile, RefusesPlacesThatAreNone) {
  const TemporaryFolder folder;
  EXPECT_THROW(PartialFile(folder.path()), InputError);
  EXPECT_THROW(PartialFile(folder / "missing" / "a"), InputError);
}

}  // namespace
}  // namespace thinpipe
