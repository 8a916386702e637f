// Files that are read and written: their limits, kinds and errors.
#include "base/input_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/output_file.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

std::string refusal(const fs::path& file, std::uint64_t most = 100) {
  return input_error([&] { read_input(file, "a plan", most); });
}

TEST(ReadInput, ReadsUpToTheLimit) {
  const TemporaryFolder folder;
  write_bytes(folder / "a", std::string("x\0y", 3));
  EXPECT_EQ(read_input(folder / "a", "a plan", 3), std::string("x\0y", 3));
  EXPECT_EQ(refusal(folder / "a", 2),
            (folder / "a").string() + ": is larger than 2 bytes; expected a plan");
  write_bytes(folder / "empty", "");
  EXPECT_EQ(read_input(folder / "empty", "a plan", 0), "");
  // The kernel reports a size of 0 for files whose content it makes up.
  EXPECT_FALSE(read_input("/proc/self/status", "a status", 1 << 16).empty());
  EXPECT_EQ(refusal("/proc/self/status", 10),
            "/proc/self/status: is larger than 10 bytes; expected a plan");
}

TEST(ReadInput, RefusesWhatIsNoFileOrPipe) {
  const TemporaryFolder folder;
  EXPECT_EQ(refusal("/dev/zero"), "/dev/zero: is a device; expected a plan");
  EXPECT_EQ(refusal(folder.path()), folder.path().string() + ": is a folder; expected a plan");
  EXPECT_EQ(refusal(folder / "none"), (folder / "none").string() +
                                          ": cannot read it (No such file or directory); expected "
                                          "a plan");
  fs::create_symlink("/dev/zero", folder / "link");
  EXPECT_EQ(refusal(folder / "link"),
            (folder / "link").string() + ": is a device; expected a plan");
}

TEST(ReadInput, ReadsAPipeToItsEnd) {
  const TemporaryFolder folder;
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { write_bytes(pipe, "through"); });
  EXPECT_EQ(read_input(pipe, "a plan", 100), "through");
  writer.join();
  signal(SIGPIPE, SIG_IGN);
  std::thread endless([&] { std::ofstream(pipe) << std::string(1 << 20, 'x') << std::flush; });
  EXPECT_EQ(refusal(pipe), pipe.string() + ": is larger than 100 bytes; expected a plan");
  endless.join();
  EXPECT_THROW(read_input(pipe, "a plan", 100, Pipes::kRefused), InputError);
}

// A handler without SA_RESTART, as netem/sandbox.cc has it.
TEST(ReadInput, ASignalEndsTheWaitForAWriter) {
  const TemporaryFolder folder;
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, &before);
  std::atomic<bool> done = false;
  const pthread_t self = pthread_self();
  // Again and again: the first may come before open() waits.
  std::thread other([&] {
    while (!done) {
      pthread_kill(self, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_THROW(read_input(pipe, "a plan", 100), RunError);
  done = true;
  other.join();
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(InputLines, TellsLinesAndTheirPlaces) {
  const TemporaryFolder folder;
  const std::string text = "one\n\nthree\nunfinished";
  write_bytes(folder / "a", text);
  const auto check = [&](InputLines lines) {
    ASSERT_TRUE(lines.next());
    EXPECT_EQ(lines.line(), "one");
    EXPECT_EQ(lines.end(), 4U);
    EXPECT_FALSE(lines.last());
    EXPECT_EQ(lines.line(), "one");
    ASSERT_TRUE(lines.next());
    EXPECT_EQ(lines.line(), "");
    EXPECT_TRUE(lines.finished());
    ASSERT_TRUE(lines.next());
    EXPECT_EQ(lines.line(), "three");
    EXPECT_EQ(lines.number(), 3U);
    ASSERT_TRUE(lines.next());
    EXPECT_EQ(lines.line(), "unfinished");
    EXPECT_FALSE(lines.finished());
    EXPECT_TRUE(lines.last());
    EXPECT_EQ(lines.end(), text.size());
    EXPECT_FALSE(lines.next());
    EXPECT_FALSE(lines.next());
  };
  check(InputLines(text));
  check(InputLines(InputFile(folder / "a", "lines"), 100));
}

TEST(InputLines, ReadsLinesLongerThanItsBuffer) {
  const TemporaryFolder folder;
  const std::string first(300'000, 'a'), second(700'000, 'b');
  write_bytes(folder / "a", first + "\n" + second + "\n");
  InputLines lines(InputFile(folder / "a", "lines"), 1'000'000);
  ASSERT_TRUE(lines.next());
  EXPECT_EQ(lines.line(), first);
  EXPECT_FALSE(lines.last());
  EXPECT_EQ(lines.line(), first);
  ASSERT_TRUE(lines.next());
  EXPECT_EQ(lines.line(), second);
  EXPECT_TRUE(lines.last());
  EXPECT_EQ(lines.end(), 1'000'002U);
  EXPECT_FALSE(lines.next());
}

TEST(InputLines, RefusesALineThatIsTooLong) {
  const TemporaryFolder folder;
  write_bytes(folder / "a", "short\n" + std::string(1'000'000, '\0'));
  InputLines lines(InputFile(folder / "a", "lines"), 1000);
  ASSERT_TRUE(lines.next());
  EXPECT_EQ(input_error([&] { lines.next(); }),
            (folder / "a").string() + ": line 2 is longer than 1000 bytes; expected lines");
}

TEST(InputFilesBelow, NamesRegularFilesUpToTheLimit) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "a/b");
  write_bytes(folder / "a/b/file", "x");
  fs::create_directory_symlink("..", folder / "a/around");
  ASSERT_EQ(mkfifo((folder / "a/pipe").c_str(), 0600), 0);
  const auto error_of = [](const fs::path& where) {
    return input_error([&] { input_files_below(where, "a plan", 4); });
  };
  // a, a/b, a/b/file, a/around, a/pipe
  const std::vector<fs::path> found = input_files_below(folder.path(), "a plan", 5);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].string(), (folder / "a/b/file").string());
  EXPECT_EQ(error_of(folder.path()),
            folder.path().string() + ": more than 4 files and folders; expected a plan");
  EXPECT_EQ(error_of(folder / "none"), (folder / "none").string() +
                                           ": cannot read it (No such file or directory); "
                                           "expected a plan");
}

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
