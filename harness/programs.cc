// Where the programs are that the command starts.
#include "harness/programs.h"

#include <unistd.h>

#include <cstdio>

#include "base/error.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

const char* absence(const std::string& name) {
  if (name == "thinpipe-capture") {
    return "this build cannot train; install libtorch (Debian: libtorch-dev) and build again";
  }
  return "the build or the installation is incomplete";
}

}  // namespace

fs::path find_program(const std::string& name) {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path libexec = folder.parent_path() / "libexec" / "thinpipe";
  for (const fs::path& place : {folder, libexec}) {
    if (is_executable(place / name)) return place / name;
  }
  throw RunError("no program " + name + " in " + folder.string() + " or " + libexec.string() +
                 ": " + absence(name));
}

void replace_process(const fs::path& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::fflush(nullptr);
  ::execv(program.c_str(), pointers.data());
  throw SystemError("executing " + program.string());
}

}  // namespace thinpipe
