// The corpus of broken traces: each is refused, with the message that stands in messages.txt.
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/base/input_error.h"
#include "tests/trace/temporary_folder.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

/// What opening and verifying says; the folder's own path is written DIR.
std::string message_of(const std::filesystem::path& folder) {
  std::string message = input_error([&] { Trace(folder).verify(); });
  const std::string path = folder.string();
  for (std::size_t at = message.find(path); at != std::string::npos; at = message.find(path)) {
    message.replace(at, path.size(), "DIR");
  }
  return message;
}

TEST(BrokenTraces, AreRefusedWithTheMessageOfEach) {
  if (std::system("python3 -c 'import json, struct, hashlib' >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "python3 is not installed; the corpus was not made";
  }
  const TemporaryFolder temporary;
  const std::string scripts = THINPIPE_BROKEN_TRACES;
  const std::string command =
      "python3 '" + scripts + "/make.py' '" + temporary.path().string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;

  std::set<std::string> made;
  for (const auto& entry : std::filesystem::directory_iterator(temporary.path())) {
    made.insert(entry.path().filename());
  }
  std::ifstream messages(scripts + "/messages.txt");
  std::string line;
  while (std::getline(messages, line)) {
    const std::size_t colon = line.find(": ");
    ASSERT_NE(colon, std::string::npos) << line;
    const std::string name = line.substr(0, colon);
    EXPECT_EQ(made.erase(name), 1U) << name << " stands in messages.txt alone";
    EXPECT_EQ(message_of(temporary / name), line.substr(colon + 2)) << name;
  }
  EXPECT_EQ(made, std::set<std::string>{"sound"}) << "a case without a message";
  EXPECT_EQ(message_of(temporary / "sound"), "");
}

}  // namespace
}  // namespace thinpipe
