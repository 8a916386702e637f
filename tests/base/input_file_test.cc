#include "base/input_file.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

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
  try {
    lines.next();
    FAIL() << "it was taken";
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(),
              (folder / "a").string() + ": line 2 is longer than 1000 bytes; expected lines");
  }
}

TEST(InputFilesBelow, NamesRegularFilesUpToTheLimit) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "a/b");
  write_bytes(folder / "a/b/file", "x");
  fs::create_directory_symlink("..", folder / "a/around");
  ASSERT_EQ(mkfifo((folder / "a/pipe").c_str(), 0600), 0);
  const auto found = [&](const fs::path& where, std::size_t most) -> std::string {
    try {
      std::string names;
      for (const fs::path& file : input_files_below(where, "a plan", most))
        names += file.string() + "\n";
      return names;
    } catch (const InputError& error) {
      return error.what();
    }
  };
  // a, a/b, a/b/file, a/around, a/pipe
  EXPECT_EQ(found(folder.path(), 5), (folder / "a/b/file").string() + "\n");
  EXPECT_EQ(found(folder.path(), 4),
            folder.path().string() + ": more than 4 files and folders; expected a plan");
  EXPECT_EQ(found(folder / "none", 4), (folder / "none").string() +
                                           ": cannot read it (No such file or directory); "
                                           "expected a plan");
}

}  // namespace
}  // namespace thinpipe
