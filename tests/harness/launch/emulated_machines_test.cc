#include "harness/launch/emulated_machines.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

namespace thinpipe {
namespace {

// Where no other run of this machine is seen.
class OtherRunsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* before = getenv("TMPDIR")) before_ = before;
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(folder_));  // nothing is made there
    std::filesystem::remove(folder_);
    before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1);
  }
  std::string folder_ = "/tmp/thinpipe-other-runs-XXXXXX", before_;
};

TEST_F(OtherRunsTest, NobodySeesItself) { EXPECT_FALSE(OtherRuns().any()); }

TEST_F(OtherRunsTest, EachSeesTheOtherAsLongAsItIsThere) {
  const OtherRuns one;
  auto two = std::make_unique<OtherRuns>();
  EXPECT_TRUE(one.any());
  EXPECT_TRUE(two->any());
  two.reset();
  EXPECT_FALSE(one.any());
}

TEST_F(OtherRunsTest, ASandboxedChildIsNoOther) {
  const OtherRuns one;
  const pid_t child = fork();
  if (child == 0) _exit(one.any() ? 1 : 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(OtherRunsTest, AKilledOneIsGone) {
  const OtherRuns one;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const OtherRuns two;
    if (::write(ready[1], "x", 1) == 1) pause();
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(one.any());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(one.any());
  close(ready[0]);
  close(ready[1]);
}

TEST_F(OtherRunsTest, AFolderThatIsNotThereHidesEverybody) {
  setenv("TMPDIR", "/nonexistent", 1);
  const OtherRuns one, two;
  EXPECT_FALSE(one.any());
}

}  // namespace

}  // namespace thinpipe
