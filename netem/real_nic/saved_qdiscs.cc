#include "netem/real_nic/saved_qdiscs.h"

#include <fcntl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "netem/file_descriptor.h"
#include "netem/real_nic/messages.h"

namespace thinpipe {
namespace {

// Runs `action` in a child process with a new network namespace, which has only the loopback
// interface. @returns "" on success, else the exception's text.
std::string rehearse(const std::function<void()>& action) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw SystemError("pipe");
  const FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);
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
    const bool told = write(writer.get(), complaint.data(), complaint.size()) ==
                      static_cast<ssize_t>(complaint.size());
    _exit(told && complaint.empty() ? 0 : 1);
  }
  writer.reset();
  std::string complaint;
  char buffer[512];
  ssize_t got;
  while ((got = read(reader.get(), buffer, sizeof(buffer))) > 0 || (got < 0 && errno == EINTR))
    if (got > 0) complaint.append(buffer, static_cast<std::size_t>(got));
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

bool is_ingress(std::uint32_t parent) { return parent == TC_H_INGRESS; }  // TC_H_CLSACT is the same

std::string handle_text(std::uint32_t handle) { return fmt::format("{:x}:", handle >> 16); }

bool has_filters(int interface, std::uint32_t parent) {
  bool found = false;
  NetlinkConversation().read(
      traffic_message(RTM_GETTFILTER, NLM_F_REQUEST | NLM_F_DUMP, interface, parent, 0),
      "read the filters", [&](nlmsghdr*) { found = true; });
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

void delete_root(const NetlinkConversation& kernel, int interface) {
  try {
    kernel.request(traffic_message(RTM_DELQDISC, 0, interface, TC_H_ROOT, 0), "delete the qdisc");
  } catch (const RunError&) {
    // No qdisc had been set. The result is compared afterwards in any case.
  }
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
  return handle == 0 ? kind : kind + " " + handle_text(handle);
}

std::vector<RawQdisc> read_qdiscs(int interface) {
  std::vector<RawQdisc> qdiscs;
  const auto keep = [&](nlmsghdr* header) {
    const auto* about = static_cast<const tcmsg*>(nlmsg_data(header));
    // The kernel dumps the qdiscs of all interfaces, whatever the request.
    if (header->nlmsg_type != RTM_NEWQDISC || about->tcm_ifindex != interface ||
        is_ingress(about->tcm_parent))
      return;
    nlattr* attributes[TCA_MAX + 1];
    if (nlmsg_parse(header, sizeof(tcmsg), attributes, TCA_MAX, nullptr) != 0 ||
        attributes[TCA_KIND] == nullptr)
      throw RunError("read the qdiscs: a message without a kind");
    RawQdisc qdisc;
    qdisc.parent = about->tcm_parent;
    qdisc.handle = about->tcm_handle;
    qdisc.kind = nla_get_string(attributes[TCA_KIND]);
    if (const nlattr* options = attributes[TCA_OPTIONS]) {
      const auto* bytes = static_cast<const std::byte*>(nla_data(options));
      qdisc.options.assign(bytes, bytes + nla_len(options));
    }
    qdisc.extras = attributes[TCA_STAB] != nullptr || attributes[TCA_INGRESS_BLOCK] != nullptr ||
                   attributes[TCA_EGRESS_BLOCK] != nullptr;
    qdiscs.push_back(std::move(qdisc));
  };
  NetlinkConversation().read(
      traffic_message(RTM_GETQDISC, NLM_F_REQUEST | NLM_F_DUMP, interface, 0, 0), "read the qdiscs",
      keep);
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
  const NetlinkConversation kernel;
  delete_root(kernel, interface);
  if (!saved.empty() && saved[0].handle != 0) {
    const RawQdisc& root = saved[0];
    const NetlinkMessage message = traffic_message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE,
                                                   interface, root.parent, root.handle);
    nla_put_string(message.get(), TCA_KIND, root.kind.c_str());
    const std::vector<std::byte> options = options_to_send(root);
    if (!options.empty())
      nla_put(message.get(), TCA_OPTIONS, static_cast<int>(options.size()), options.data());
    kernel.request(message, "restore " + root.to_string());
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

}  // namespace thinpipe
