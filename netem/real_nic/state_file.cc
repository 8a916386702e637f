#include "netem/real_nic/state_file.h"

#include <fcntl.h>
#include <net/if.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace thinpipe {

namespace {

namespace fs = std::filesystem;
constexpr const char* kFirstLine = "thinpipe-shape 1";

std::string file_of(const std::string& interface) {
  // The kernel allows neither '/' nor blanks in an interface's name.
  if (interface.empty() || interface.size() >= IFNAMSIZ || interface == "." || interface == ".." ||
      interface.find_first_of("/ \t\n") != std::string::npos)
    throw InputError(fmt::format("'{}' is not the name of an interface", interface));
  return fmt::format("{}/{}", kStateFolder, interface);
}

std::string whole(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t got;
  off_t at = 0;
  while ((got = pread(descriptor, buffer.data(), buffer.size(), at)) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
    at += got;
  }
  return text;
}

ShapedState parse(const std::string& path, const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');
  const auto complain = [&](std::size_t line, const char* expected) {
    throw InputError(fmt::format("{}:{}: expected {}, found '{}'", path, line + 1, expected,
                                 line < lines.size() ? lines[line] : ""));
  };
  // `key value`, one per line, in this order.
  const auto value = [&](std::size_t line, const std::string& key) {
    if (line >= lines.size() || !lines[line].starts_with(key + " "))
      complain(line, (key + " ...").c_str());
    return lines[line].substr(key.size() + 1);
  };
  if (lines[0] != kFirstLine) complain(0, kFirstLine);
  ShapedState state;
  state.interface = value(1, "interface");
  const auto number = [&](std::size_t line, const std::string& key) {
    const auto found = parse_number<int>(value(line, key), 0);
    if (!found) complain(line, (key + " and a whole number").c_str());
    return *found;
  };
  state.index = number(2, "index");
  state.network_namespace = value(3, "namespace");
  state.guard = number(4, "guard");
  // The last line ends with a newline: an unfinished file lacks "end".
  std::size_t line = 5;
  for (; line < lines.size() && lines[line].starts_with("saved "); ++line)
    state.saved.push_back(parse_qdisc_line(value(line, "saved")));
  if (line + 1 >= lines.size() || lines[line] != "end") complain(line, "saved ... or end");
  return state;
}

}  // namespace

std::optional<StateFile> StateFile::hold(const std::string& interface) {
  const std::string path = file_of(interface);
  if (mkdir(kStateFolder, 0755) != 0 && errno != EEXIST)
    throw SystemError(fmt::format("create {} (as root: install -d -m 0755 -o USER {})",
                                  kStateFolder, kStateFolder));
  for (;;) {
    FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!file.valid()) throw SystemError("open " + path);
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return std::nullopt;
      throw SystemError("lock " + path);
    }
    // The previous owner may have removed the file between open and flock.
    struct stat opened = {}, current = {};
    if (fstat(file.get(), &opened) != 0) throw SystemError("stat " + path);
    if (opened.st_uid != 0 && opened.st_uid != geteuid())
      throw RunError(fmt::format("{} belongs to user {}, so it is not trusted. Remove the file",
                                 path, opened.st_uid));
    if (stat(path.c_str(), &current) == 0 && current.st_ino == opened.st_ino)
      return StateFile(path, std::move(file));
  }
}

std::optional<ShapedState> StateFile::read() const {
  const std::string text = whole(file_.get());
  if (text.empty()) return std::nullopt;
  return parse(path_, text);
}

void StateFile::write(const ShapedState& state) const {
  std::string text =
      fmt::format("{}\ninterface {}\nindex {}\nnamespace {}\nguard {}\n", kFirstLine,
                  state.interface, state.index, state.network_namespace, state.guard);
  for (const RawQdisc& qdisc : state.saved) text += "saved " + to_line(qdisc) + "\n";
  text += "end\n";
  if (ftruncate(file_.get(), 0) != 0 ||
      pwrite(file_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    throw SystemError("write " + path_);
}

void StateFile::remove() const {
  if (unlink(path_.c_str()) != 0 && errno != ENOENT) throw SystemError("remove " + path_);
}

std::vector<std::string> shaped_interfaces() {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(kStateFolder, none))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

pid_t guard_of(const std::string& interface) {
  const std::string path = file_of(interface);
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return 0;
  try {
    return parse(path, whole(file.get())).guard;
  } catch (const InputError&) {
    return 0;  // incomplete or damaged
  }
}

std::string network_namespace_number() {
  struct stat about = {};
  if (stat("/proc/thread-self/ns/net", &about) != 0)
    throw SystemError("stat the network namespace");
  return std::to_string(about.st_ino);
}

std::string finish(const StateFile& file) {
  const std::optional<ShapedState> state = file.read();
  std::string outcome = "nothing to restore";
  if (state) {
    if (state->network_namespace != network_namespace_number())
      throw RunError(fmt::format("{} was throttled in another network namespace ({})",
                                 state->interface, state->network_namespace));
    const auto index = static_cast<int>(if_nametoindex(state->interface.c_str()));
    if (index != state->index) {
      outcome = "the interface is gone, and its qdisc with it";
    } else if (const std::vector<RawQdisc> now = read_qdiscs(index); now == state->saved) {
      outcome = "restored already";
    } else if (now.empty() || now[0].handle != kOurHandle) {
      outcome = fmt::format("left alone: somebody else has set {} since",
                            now.empty() ? "nothing" : now[0].to_string());
    } else {
      restore_qdiscs(index, state->saved);
      outcome = fmt::format("back to {}", state->saved.empty() ? "the kernel's default"
                                                               : state->saved[0].to_string());
    }
  }
  file.remove();
  return outcome;
}

}  // namespace thinpipe
