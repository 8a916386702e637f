// Qdiscs of a real NIC are restored exactly; the state file that saves them.
#include "netem/real_nic/saved_qdiscs.h"

#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <cstring>

#include "netem/link/qdisc.h"
#include "tests/base/support.h"
#include "tests/netem/real_nic/nic.h"

namespace thinpipe {
namespace {

void add_limited(const char* kind, std::uint32_t handle, std::uint32_t limit) {
  const tc_fifo_qopt options = {limit};
  add_qdisc("nic0", TC_H_ROOT, handle, kind, &options, sizeof(options));
}

void set_tbf(const char* interface, double rate, std::uint32_t burst, std::uint32_t limit) {
  Netlink().set_qdisc(
      interface, {}, tbf_request({.rate = bytes_per_second(rate), .burst = burst, .limit = limit}));
}

// Reads, throttles over it, restores: the qdiscs must be those of before.
void expect_given_back(const std::string& kind, std::uint32_t handle) {
  const int index = interface_index("nic0");
  const std::vector<RawQdisc> before = read_qdiscs(index);
  require(before.at(0).kind == kind && before[0].handle == handle, kind + " is set");
  const std::string obstacle = why_not_restorable(index, before);
  require(obstacle.empty(), kind + " can be restored, but: " + obstacle);
  Netlink().delete_root_qdisc("nic0");
  set_tbf("nic0", 10e6, 5000, 50000);
  require(read_qdiscs(index) != before, "something else is set");
  restore_qdiscs(index, before);
  require(read_qdiscs(index) == before, kind + " is back");
}

TEST(SavedQdiscs, GivesBackWhatTheKernelChose) {
  with_nics([] { expect_given_back("noqueue", 0); });
}

TEST(SavedQdiscs, GivesBackWhatSomebodySet) {
  with_nics([] {
    add_limited("pfifo", 0x80010000, 77);
    expect_given_back("pfifo", 0x80010000);
    add_limited("bfifo", 0x80020000, 98765);
    expect_given_back("bfifo", 0x80020000);
    add_qdisc("nic0", TC_H_ROOT, 0x70000, "pfifo_fast", nullptr, 0);
    expect_given_back("pfifo_fast", 0x70000);
    // A TBF of the user's own.
    Netlink().delete_root_qdisc("nic0");
    set_tbf("nic0", 123e6, 20000, 70000);
    expect_given_back("tbf", 0x10000);
  });
}

// A NIC with several queues has an mq that the kernel chose, and a qdisc in each.
TEST(SavedQdiscs, GivesBackAQdiscAQueue) {
  with_nics([] {
    const FileDescriptor tun(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
    if (!tun.valid()) return;  // not in this kernel
    ifreq request = {};
    std::strcpy(request.ifr_name, "tap0");
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE;
    require(ioctl(tun.get(), TUNSETIFF, &request) == 0, "a tap with several queues");
    Netlink().set_up("tap0");
    const int index = interface_index("tap0");
    const std::vector<RawQdisc> before = read_qdiscs(index);
    require(before.at(0).kind == "mq" && before[0].handle == 0 && before.size() > 1, "an mq");
    require(why_not_restorable(index, before).empty(), why_not_restorable(index, before));
    set_tbf("tap0", 10e6, 5000, 50000);
    restore_qdiscs(index, before);
    require(read_qdiscs(index) == before, "mq and its children are back");
    // One that somebody set may have anything inside.
    add_qdisc("tap0", TC_H_ROOT, 0x50000, "mq", nullptr, 0);
    require_has(why_not_restorable(index, read_qdiscs(index)), "kind mq");
  });
}

TEST(SavedQdiscs, RefusesWhatItCannotGiveBack) {
  with_nics([] {
    const int index = interface_index("nic0");
    const auto refusal = [&] { return why_not_restorable(index, read_qdiscs(index)); };
    set_tbf("nic0", 10e6, 5000, 50000);
    const tc_fifo_qopt options = {9};
    add_qdisc("nic0", 0x10001, 0x20000, "pfifo", &options, sizeof(options));
    require_has(refusal(), "tbf 1: has a child qdisc (pfifo 2:)");
    Netlink().delete_root_qdisc("nic0");
    if (kernel_can([] { Netlink().set_qdisc("nic0", {}, htb_request()); }))
      require_has(refusal(), "kind htb");
  });
}

TEST(SavedQdiscs, RehearsesWithoutTouchingTheInterface) {
  with_nics([] {
    add_limited("pfifo", 0x80010000, 77);
    const int index = interface_index("nic0");
    std::vector<RawQdisc> impossible = read_qdiscs(index);
    impossible[0].options.resize(2);  // no kernel takes half a limit
    require_has(why_not_restorable(index, impossible), "restore pfifo 8001:");
    require(root_qdisc("nic0").kind == "pfifo", "it is as it was");
    impossible[0].kind = "bfifo";  // and a difference on reading back is noticed
    impossible[0].options = from_hex("00010000 00000000");
    require_has(why_not_restorable(index, impossible), "other settings");
  });
}

TEST(SavedQdiscs, ALineKeepsEverything) {
  RawQdisc qdisc{.parent = TC_H_ROOT, .handle = 0x80010000, .kind = "pfifo"};
  EXPECT_EQ(to_line(qdisc), "ffffffff 80010000 pfifo -");
  EXPECT_EQ(parse_qdisc_line(to_line(qdisc)), qdisc);
  qdisc.options = from_hex("4d00ff");
  EXPECT_EQ(to_line(qdisc), "ffffffff 80010000 pfifo 4d00ff");
  EXPECT_EQ(parse_qdisc_line(to_line(qdisc)), qdisc);
  for (const char* bad : {"", "ffffffff 0 pfifo", "fffffffff 0 pfifo -", "f 0 pfifo 4", "f 0  -",
                          "f 0 pfifo zz", "f -1 pfifo -"})
    EXPECT_THROW(parse_qdisc_line(bad), InputError) << bad;
}

TEST(StateFile, RefusesADamagedFile) {
  with_nics([] {
    const std::string begin = "thinpipe-shape 1\ninterface nic0\nindex 2\nnamespace 1\n";
    for (const auto& [text, expected] :
         {std::pair{std::string("something else\n"), "/run/thinpipe/nic0:1"},
          std::pair{begin, ":5: expected guard"},
          std::pair{begin + "guard -1\nend\n", ":5: expected guard and a whole"},
          std::pair{begin + "guard 1\n", ":6: expected saved"},
          std::pair{begin + "guard 1\nsaved x\nend\n", "saved qdisc"},
          std::pair{begin + "guard 1\nend", ":6: expected saved"}}) {
      write_bytes(std::string(kStateFolder) + "/nic0", text);
      const auto file = StateFile::hold("nic0");
      require_has(input_error([&] { finish(*file); }), expected);
    }
  });
}

TEST(StateFile, KnowsAnotherNamespaceAndAnotherInterface) {
  with_nics([] {
    ShapedState state;
    state.interface = "nic0";
    state.index = interface_index("nic0");
    state.network_namespace = "12345";
    const auto file = StateFile::hold("nic0");
    file->write(state);
    require(file->read()->saved.empty(), "read back");
    require_has(run_error([&] { finish(*file); }), "another network namespace (12345)");
    state.network_namespace = network_namespace_number();
    state.index += 1000;
    file->write(state);
    require(finish(*file) == "the interface is gone, and its qdisc with it", "gone");
  });
}

}  // namespace

}  // namespace thinpipe
