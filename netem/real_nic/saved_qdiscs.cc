#include "netem/real_nic/saved_qdiscs.h"

#include <fcntl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "netem/link/traffic_control.h"

namespace thinpipe {
namespace {

// Runs `action` in a child process with a new network namespace, which has only the loopback
// interface. @returns "" on success, else the exception's text.
std::string rehearse(const std::function<void()>& action) {
  Pipe pipe = make_pipe();
  const pid_t child = fork();
  if (child < 0) throw SystemError("fork");
  if (child == 0) {
    std::string complaint;
    try {
      // Without the capability, a user namespace may permit the network namespace.
      if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        throw SystemError("create a network namespace to rehearse the restoration");
      action();
    } catch (const std::exception& error) {
      complaint = error.what();
    }
    const bool told = write(pipe.writing.get(), complaint.data(), complaint.size()) ==
                      static_cast<ssize_t>(complaint.size());
    _exit(told && complaint.empty() ? 0 : 1);
  }
  pipe.writing.reset();
  std::string complaint = read_to_end(pipe.reading);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (complaint.empty() && status != 0) complaint = "the rehearsal ended unexpectedly";
  return complaint;
}

// Kinds whose dump has every setting.
constexpr const char* kWholeDumps[] = {"pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast",
                                       "tbf",   "codel", "fq_codel",        "fq",
                                       "sfq",   "pie",   "fq_pie",          "cake"};

bool has_filters(int interface, std::uint32_t parent) {
  bool found = false;
  list_traffic(RTM_GETTFILTER, {interface, {parent, 0}}, "read the filters",
               [&](const tcmsg&, const AttributeReader&) { found = true; });
  return found;
}

// Returns the kernel's current default qdisc; "" where only the initial namespace can read it.
std::string default_qdisc() {
  std::ifstream file("/proc/sys/net/core/default_qdisc");
  std::string kind;
  file >> kind;
  return kind;
}

std::string changed_default(const std::vector<RawQdisc>& saved) {
  const std::string now = default_qdisc();
  for (const RawQdisc& qdisc : saved)
    if (qdisc.kind != "mq" && qdisc.kind != "noqueue" && !now.empty() && qdisc.kind != now)
      return fmt::format(
          "its default qdisc is {}, but net.core.default_qdisc is now {}, which the kernel would "
          "choose instead",
          qdisc.kind, now);
  return "";
}

// Returns the options to send so that the kernel arrives at the dumped state. CoDel keeps times in
// units of 1024 ns and dumps them in whole us. Both conversions round down, so sending a dumped
// value back would yield one unit less. Sending one microsecond more yields the original value.
std::vector<std::byte> options_to_send(const RawQdisc& qdisc) {
  std::vector<std::byte> options = qdisc.options;
  std::vector<int> times;
  if (qdisc.kind == "codel") times = {TCA_CODEL_TARGET, TCA_CODEL_INTERVAL, TCA_CODEL_CE_THRESHOLD};
  if (qdisc.kind == "fq_codel")
    times = {TCA_FQ_CODEL_TARGET, TCA_FQ_CODEL_INTERVAL, TCA_FQ_CODEL_CE_THRESHOLD};
  nlattr* const first = reinterpret_cast<nlattr*>(options.data());
  for (const int time : times) {
    nlattr* found = nla_find(first, static_cast<int>(options.size()), time);
    if (found == nullptr || nla_len(found) != sizeof(std::uint32_t)) continue;
    const std::uint32_t more = nla_get_u32(found) + 1;
    std::memcpy(nla_data(found), &more, sizeof(more));
  }
  return options;
}

std::string to_string(const std::vector<RawQdisc>& qdiscs) {
  std::string text;
  for (const RawQdisc& qdisc : qdiscs) text += (text.empty() ? "" : ", ") + qdisc.to_string();
  return text.empty() ? "none" : text;
}

}  // namespace

std::string RawQdisc::to_string() const {
  return handle == 0 ? kind : fmt::format("{} {:x}:", kind, handle >> 16);
}

std::vector<RawQdisc> read_qdiscs(int interface) {
  std::vector<RawQdisc> qdiscs;
  const auto keep = [&](const tcmsg& about, const AttributeReader& attributes) {
    // The kernel dumps the qdiscs of all interfaces, whatever the request. Ingress and clsact have
    // the same parent.
    if (about.tcm_ifindex != interface || about.tcm_parent == TC_H_INGRESS) return;
    if (!attributes.has(TCA_KIND)) throw RunError("read the qdiscs: a message without a kind");
    RawQdisc qdisc{
        .parent = about.tcm_parent, .handle = about.tcm_handle, .kind = attributes.text(TCA_KIND)};
    if (attributes.has(TCA_OPTIONS)) {
      const std::span<const std::byte> options = attributes.bytes(TCA_OPTIONS);
      qdisc.options.assign(options.begin(), options.end());
    }
    qdisc.extras = attributes.has(TCA_STAB) || attributes.has(TCA_INGRESS_BLOCK) ||
                   attributes.has(TCA_EGRESS_BLOCK);
    qdiscs.push_back(std::move(qdisc));
  };
  list_traffic(RTM_GETQDISC, {interface, {0, 0}}, "read the qdiscs", keep);
  // The root first, then by parent: the kernel's order depends on the time of creation.
  std::sort(qdiscs.begin(), qdiscs.end(), [](const RawQdisc& a, const RawQdisc& b) {
    return std::tuple(a.parent != TC_H_ROOT, a.parent, a.handle) <
           std::tuple(b.parent != TC_H_ROOT, b.parent, b.handle);
  });
  return qdiscs;
}

std::string why_not_restorable(int interface, const std::vector<RawQdisc>& saved) {
  if (saved.empty() || saved[0].kind == "noop") return "it is down, so its qdisc cannot be read";
  const RawQdisc& root = saved[0];
  if (std::any_of(saved.begin(), saved.end(), [](const RawQdisc& one) { return one.extras; }))
    return fmt::format("its {} has a size table or a shared block, which dumps show only in part",
                       root.to_string());
  for (const std::uint32_t parent : {0U, root.handle})
    if (has_filters(interface, parent))
      return fmt::format("its {} has filters, which would be lost", root.to_string());
  if (root.handle == 0) return changed_default(saved);
  if (std::find(std::begin(kWholeDumps), std::end(kWholeDumps), root.kind) == std::end(kWholeDumps))
    return fmt::format("a qdisc of kind {} cannot be restored from its dump; restorable are {}",
                       root.kind, fmt::join(kWholeDumps, ", "));
  if (saved.size() > 1)
    return fmt::format("its {} has a child qdisc ({})", root.to_string(), saved[1].to_string());
  return rehearse([&] { restore_qdiscs(interface_index("lo"), saved); });
}

void restore_qdiscs(int interface, const std::vector<RawQdisc>& saved) {
  const NetlinkSocket kernel = open_rtnetlink();
  delete_qdisc(kernel, {interface, {TC_H_ROOT, 0}}, "delete the qdisc");
  if (!saved.empty() && saved[0].handle != 0) {
    const RawQdisc& root = saved[0];
    set_traffic(kernel, {interface, {root.parent, root.handle}},
                {root.kind, options_to_send(root), {}}, "restore " + root.to_string());
  }
  const std::vector<RawQdisc> now = read_qdiscs(interface);
  if (now != saved)
    throw RunError(fmt::format("restore {}: the kernel now has {}{}", to_string(saved),
                               to_string(now),
                               to_string(saved) == to_string(now) ? " with other settings" : ""));
}

std::string to_line(const RawQdisc& qdisc) {
  std::string options;
  for (const std::byte byte : qdisc.options)
    options += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return fmt::format("{:x} {:x} {} {}", qdisc.parent, qdisc.handle, qdisc.kind,
                     options.empty() ? "-" : options);
}

RawQdisc parse_qdisc_line(std::string_view line) {
  const std::vector<std::string> words = split(line, ' ');
  const auto complain = [&] {
    throw InputError(
        fmt::format("saved qdisc: expected 'PARENT HANDLE KIND OPTIONS', found '{}'", line));
  };
  const auto number = [&](const std::string& text) {
    if (text.empty() || text.size() > 8 ||
        text.find_first_not_of("0123456789abcdef") != std::string::npos)
      complain();
    return static_cast<std::uint32_t>(std::stoul(text, nullptr, 16));
  };
  if (words.size() != 4 || words[2].empty()) complain();
  RawQdisc qdisc;
  qdisc.parent = number(words[0]);
  qdisc.handle = number(words[1]);
  qdisc.kind = words[2];
  if (words[3] == "-") return qdisc;
  if (words[3].size() % 2 != 0) complain();
  for (std::size_t i = 0; i < words[3].size(); i += 2)
    qdisc.options.push_back(static_cast<std::byte>(number(words[3].substr(i, 2))));
  return qdisc;
}

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
  std::error_code failure;
  for (fs::directory_iterator entry(kStateFolder, failure), end; !failure && entry != end;
       entry.increment(failure))
    names.push_back(entry->path().filename());
  if (failure && failure != std::errc::no_such_file_or_directory)
    throw SystemError(std::string("read ") + kStateFolder, failure.value());
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
    const int index = state->index;
    char name[IF_NAMESIZE];  // by its index, because the interface may have another name by now
    if (if_indextoname(static_cast<unsigned>(index), name) == nullptr) {
      outcome = "the interface is gone, and its qdisc with it";
    } else if (const std::vector<RawQdisc> now = read_qdiscs(index); now == state->saved) {
      outcome = "restored already";
    } else if (now.empty() || (now[0].handle != kOurHandle && now[0].handle != 0)) {
      // (Handle 0 is that of the kernel's own choice, after our qdisc was deleted.)
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
