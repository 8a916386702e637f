#include "base/output_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "base/error.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

mode_t mode_of(const fs::path& file) {
  struct stat status = {};
  EXPECT_EQ(stat(file.c_str(), &status), 0) << file;
  return status.st_mode;
}

TEST(OutputFile, AppearsWholeOrNotAtAll) {
  const TemporaryFolder folder;
  {
    OutputFile file(folder / "a");
    file.write("half");
    EXPECT_FALSE(fs::exists(folder / "a"));
  }
  EXPECT_EQ(files_in(folder.path()), 0U);
  {
    OutputFile file(folder / "a");
    file.write("whole");
    EXPECT_EQ(file.size(), 5U);
    file.flush();
    file.commit();
  }
  EXPECT_EQ(read_bytes(folder / "a"), "whole");
  EXPECT_EQ(files_in(folder.path()), 1U);
}

TEST(OutputFile, ReplacesTheOldFileAtCommitOnly) {
  const TemporaryFolder folder;
  write_bytes(folder / "a", "old");
  OutputFile file(folder / "a");
  file.write("new");
  EXPECT_EQ(read_bytes(folder / "a"), "old");
  OutputFile moved(std::move(file));
  moved.commit();
  EXPECT_EQ(read_bytes(folder / "a"), "new");
  EXPECT_EQ(files_in(folder.path()), 1U);
}

TEST(OutputFile, TakesNoNameThatAnotherFileHas) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.partial", "somebody's");
  write_output(folder / "a", "new");
  EXPECT_EQ(read_bytes(folder / "a"), "new");
  EXPECT_EQ(read_bytes(folder / "a.partial"), "somebody's");
}

TEST(OutputFile, RefusesPlacesThatAreNone) {
  const TemporaryFolder folder;
  EXPECT_THROW(OutputFile(folder.path()), InputError);
  EXPECT_THROW(OutputFile(folder / "missing" / "a"), InputError);
  EXPECT_THROW(OutputFile(""), InputError);
  fs::create_symlink("loop", folder / "loop");
  EXPECT_THROW(OutputFile(folder / "loop"), SystemError);
}

TEST(OutputFile, KeepsTheModeOfAFileAndTakesThatOfTheUmaskForANewOne) {
  const TemporaryFolder folder;
  const mode_t before = umask(027);
  write_output(folder / "new", "1");
  umask(before);
  EXPECT_EQ(mode_of(folder / "new") & 07777, 0640U);
  fs::permissions(folder / "new", fs::perms(0604));
  write_output(folder / "new", "2");
  EXPECT_EQ(mode_of(folder / "new") & 07777, 0604U);
}

TEST(OutputFile, FollowsLinksToTheirTarget) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "below");
  write_bytes(folder.path() / "below" / "file", "old");
  fs::create_symlink("below/file", folder / "link");
  fs::create_symlink(folder / "link", folder / "absolute");
  write_output(folder / "absolute", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "absolute"));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_bytes(folder.path() / "below" / "file"), "new");
  fs::create_symlink("below/later", folder / "dangling");
  write_output(folder / "dangling", "made");
  EXPECT_TRUE(fs::is_symlink(folder / "dangling"));
  EXPECT_EQ(read_bytes(folder.path() / "below" / "later"), "made");
}

TEST(OutputFile, WritesToAPipeThatIsThere) {
  const TemporaryFolder folder;
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string found;
  std::thread reader([&] { found = read_bytes(pipe); });
  write_output(pipe, "through");
  reader.join();
  EXPECT_EQ(found, "through");
  EXPECT_TRUE(S_ISFIFO(mode_of(pipe)));
}

TEST(OutputFile, WritesToADeviceAndLeavesItOne) {
  const TemporaryFolder folder;
  // A device of our own, as root, so that no mistake can cost the machine its own.
  const fs::path device = folder / "full";
  if (mknod(device.c_str(), S_IFCHR | 0666, makedev(1, 7)) != 0)
    GTEST_SKIP() << "only root makes devices";
  try {
    write_output(device, "more than there is room for");
    const int file = open(device.c_str(), O_WRONLY);
    if (file < 0) GTEST_SKIP() << "no device can be opened in " << folder.path();
    FAIL() << "a full device took it";
  } catch (const SystemError& error) {
    if (error.error() == EACCES) GTEST_SKIP() << "no device can be opened in " << folder.path();
    EXPECT_STREQ(error.what(), ("write " + device.string() + ": No space left on device").c_str());
  }
  EXPECT_TRUE(S_ISCHR(mode_of(device)));
}

TEST(OutputFile, WritesToADescriptorAtItsOffset) {
  const TemporaryFolder folder;
  const int file = open((folder / "a").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(write(file, "before ", 7), 7);
  const std::string number = std::to_string(file);
  write_output("/dev/fd/" + number, "now ");
  write_output("/proc/self/fd/" + number, "later ");
  fs::create_symlink("/dev/fd/" + number, folder / "link");
  write_output(folder / "link", "linked");
  EXPECT_EQ(read_bytes(folder / "a"), "before now later linked");
  close(file);
}

// A limit on the file size replaces a full disk. Writing then takes the same error path, and the
// test needs no root rights.
TEST(OutputFile, AFullDiskLeavesTheOldFileAndNoOther) {
  const TemporaryFolder folder;
  write_bytes(folder / "a", "old");
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit small = {1024, 1024};
    setrlimit(RLIMIT_FSIZE, &small);
    try {
      write_output(folder / "a", std::string(4096, 'x'));
      _exit(1);
    } catch (const SystemError& error) {
      const std::string expected = "write " + (folder / "a").string() + ": File too large";
      _exit(error.what() == expected ? 0 : 2);
    }
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_bytes(folder / "a"), "old");
  EXPECT_EQ(files_in(folder.path()), 1U);
}

TEST(OutputFile, DoesNotReplaceAFileThatMayNotBeWritten) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write to all";
  const TemporaryFolder folder;
  write_bytes(folder / "a", "old");
  fs::permissions(folder / "a", fs::perms::owner_read);
  EXPECT_THROW(OutputFile(folder / "a"), SystemError);
}

TEST(AppendOutput, AddsToTheEnd) {
  const TemporaryFolder folder;
  append_output(folder / "a", "one ");
  append_output(folder / "a", "two");
  EXPECT_EQ(read_bytes(folder / "a"), "one two");
  EXPECT_THROW(append_output(folder.path(), "x"), SystemError);
}

}  // namespace
}  // namespace thinpipe
