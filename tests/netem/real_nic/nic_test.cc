// The guard of a real NIC, and the NICs that it refuses.
#include "netem/real_nic/nic.h"

#include <gtest/gtest.h>
#include <linux/pkt_sched.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/clock.h"
#include "netem/link/attributes.h"
#include "netem/link/link_spec.h"
#include "netem/link/qdisc.h"
#include "netem/link/shaping.h"
#include "netem/probe.h"
#include "tests/netem/real_nic/nic.h"

namespace thinpipe {
namespace {

GuardOptions nic0(double lease = 60) {
  GuardOptions options;
  options.interface = "nic0";
  options.lease = lease;
  return options;
}

// A guard that has throttled nic0.
struct ThrottlingGuard : RunningGuard {
  ThrottlingGuard() : RunningGuard(nic0()) { ask("link rate=10mbit"); }
};

void require_is(const std::string& found, const std::string& expected) {
  require(found == expected, found + " is " + expected);
}

void require_throttled() {
  require(root_qdisc("nic0").kind == "tbf", "nic0 is throttled");
  require(shaped_interfaces() == std::vector<std::string>{"nic0"}, "and that is written down");
}

void require_given_back() {
  require(root_qdisc("nic0").kind == "noqueue", "nic0 has what it had");
  require(shaped_interfaces().empty(), "and nothing is written down any more");
}

TEST(Guard, ThrottlesCountsAndGivesBack) {
  with_nics([] {
    RunningGuard guard(nic0());
    require_is(guard.hello(), "guarding 1500 noqueue");
    require_is(guard.ask("link rate=10mbit"), "set rate=10mbit");
    require_throttled();
    require(guard.ask("count").starts_with("counted "), "counts");
    require_is(guard.ask("link rate=20mbit"), "set rate=20mbit");
    require(guard.ask("link rate=0").starts_with("error "), "a bad link is refused");
    require(guard.ask("dance").starts_with("error expected"), "so is nonsense");
    require_throttled();
    require_is(guard.ask("restore"), "restored back to noqueue (requested)");
    require(guard.wait() == 0, "a good end");
    require_given_back();
  });
}

TEST(Guard, GivesBackWhenTheSweepIsGone) {
  with_nics([] {
    ThrottlingGuard guard;
    guard.hang_up();
    require_is(guard.line(), "restored back to noqueue (the sweep closed the connection)");
    guard.wait();
    require_given_back();
  });
}

// The connection hangs: no end, no renewal. On a machine that stalls, a word may come too late. The
// guard then rightly restores the interface, and the test asks another guard.
TEST(Guard, GivesBackWhenTheLeaseRunsOut) {
  with_nics([] {
    constexpr double kLease = 1.5;  // s
    for (bool in_time = false; !in_time;) {
      RunningGuard guard(nic0(kLease));
      double heard = 0;  // a moment before the last word in time
      std::string said;
      const auto answers = [&](const char* word, const char* expected) {
        const double now = now_seconds(CLOCK_BOOTTIME);
        said = guard.ask(word);
        if (said == expected) heard = now;
        return said == expected;
      };
      in_time = answers("link rate=10mbit", "set rate=10mbit");
      for (int i = 0; i < 4 && in_time; ++i) {  // longer than a lease, but with a word in time
        poll(nullptr, 0, 450);
        in_time = answers("renew", "renewed");
      }
      if (in_time) said = guard.line();
      require_is(said, "restored back to noqueue (lease expired after 1.5 s of silence)");
      require(now_seconds(CLOCK_BOOTTIME) - heard >= kLease, "not before");
      guard.wait();
      require_given_back();
    }
  });
}

TEST(Guard, GivesBackAtASignalToEitherProcess) {
  with_nics([] {
    for (const bool keeper : {false, true}) {
      ThrottlingGuard guard;
      kill(keeper ? guard.keeper() : guard.process(), SIGTERM);
      require(guard.line().ends_with("(ended by a signal)"), "restored");
      guard.wait();
      require_given_back();
    }
  });
}

TEST(Guard, AClosedSessionDoesNotEndIt) {
  with_nics([] {
    ThrottlingGuard guard;
    for (const pid_t process : {guard.process(), guard.keeper()}) kill(process, SIGHUP);
    require_is(guard.ask("renew"), "renewed");
    require_throttled();
    kill(guard.process(), SIGKILL);  // and the keeper needs no parent
    require_is(guard.ask("renew"), "renewed");
    guard.ask("restore");
    require_given_back();
  });
}

TEST(Guard, TheParentGivesBackWhenTheKeeperIsKilled) {
  with_nics([] {
    ThrottlingGuard guard;
    kill(guard.keeper(), SIGKILL);
    require(guard.wait() == kExitFailed, "it reports the failure");
    require_given_back();
  });
}

TEST(Guard, WhenAllAreKilledTheFileRemains) {
  with_nics([] {
    for (const bool by_hand : {true, false}) {
      ThrottlingGuard guard;
      const pid_t keeper = guard.keeper();
      kill(guard.process(), SIGKILL);
      kill(keeper, SIGKILL);
      guard.wait();
      waitpid(keeper, nullptr, 0);  // this process adopted it
      require_throttled();
      if (by_hand) {
        const auto file = StateFile::hold("nic0");
        require(file.has_value(), "nobody holds it any more");
        require(finish(*file) == "back to noqueue", "finished");
      } else {  // the next guard finishes that one's work
        RunningGuard next(nic0());
        require_is(next.hello(), "guarding 1500 noqueue");
        next.ask("restore");
      }
      require_given_back();
    }
  });
}

TEST(Guard, ASecondOneIsRefused) {
  with_nics([] {
    RunningGuard guard(nic0());
    RunningGuard second(nic0());
    require(second.hello() ==
                "refused nic0 is throttled already, by process " + std::to_string(guard.process()),
            second.hello());
    require(second.wait() == kExitFailed, "a failure");
    require(!StateFile::hold("nic0").has_value(), "nor can it be finished by hand");
    require_is(guard.ask("renew"), "renewed");
  });
}

TEST(Guard, LeavesAloneWhatSomebodyElseSet) {
  with_nics([] {
    ThrottlingGuard guard;
    RawQdisc theirs{.parent = 0xffffffff, .handle = 0x10000, .kind = "pfifo"};
    theirs.options = from_hex("05000000");
    restore_qdiscs(interface_index("nic0"), {theirs});
    require_has(guard.ask("restore"), "left alone: somebody else has set pfifo 1:");
    require(root_qdisc("nic0") == theirs, "theirs is the root");
  });
}

TEST(Guard, RefusesAnInterfaceWithBurdens) {
  with_nics([] {
    add_default_route("nic0", "10.1.0.254");
    RunningGuard guard(nic0());
    require_is(guard.hello(),
               "refused nic0 carries the default route. Use --shape-anyway to throttle it anyway");
    require(guard.wait() == kExitUsage, "usage");
    require_given_back();
    GuardOptions told_twice = nic0();
    told_twice.anyway = true;
    RunningGuard anyway(told_twice);
    require_is(anyway.hello(), "guarding 1500 noqueue");
    anyway.ask("restore");
    GuardOptions controlled;
    controlled.interface = "nic1";
    controlled.controllers = {"10.2.0.9"};
    RunningGuard other(controlled);
    require_has(other.hello(), "10.2.0.9");
    setenv("SSH_CONNECTION", "10.2.0.8 50022 10.2.0.1 22", 1);
    controlled.controllers = {};
    RunningGuard ssh(controlled);
    require_has(ssh.hello(), "10.2.0.8");
  });
}

// Many distributions set fq_codel on a NIC.
TEST(Guard, GivesBackFqCodelThatSomebodySet) {
  with_nics([] {
    AttributeWriter options;
    options.put(TCA_FQ_CODEL_TARGET, std::uint32_t{7000});
    options.put(TCA_FQ_CODEL_LIMIT, std::uint32_t{4321});
    options.put(TCA_FQ_CODEL_CE_THRESHOLD, std::uint32_t{1234});
    if (!kernel_can([&] {
          add_qdisc("nic0", TC_H_ROOT, 0x80030000, "fq_codel", options.bytes().data(),
                    static_cast<int>(options.bytes().size()));
        }))
      return;
    const std::vector<RawQdisc> before = read_qdiscs(interface_index("nic0"));
    RunningGuard guard(nic0());
    require_is(guard.hello(), "guarding 1500 fq_codel 8003:");
    require_is(guard.ask("link rate=10mbit"), "set rate=10mbit");
    require_throttled();
    require_is(guard.ask("restore"), "restored back to fq_codel 8003: (requested)");
    require(read_qdiscs(interface_index("nic0")) == before, "byte for byte");
  });
}

// The kernel's description of a qdisc is not enough to recreate its classes and bands. So an
// interface with such a qdisc is refused. It must stay unchanged: nothing may be deleted to find
// this out.
TEST(Guard, RefusesWhatItCouldNotGiveBackBeforeTouchingIt) {
  with_nics([] {
    const int index = interface_index("nic0");
    for (const std::string kind : {"htb", "prio"}) {
      Netlink().delete_root_qdisc("nic0");
      const auto add = [&] {
        if (kind == "htb") {
          Netlink().set_qdisc("nic0", {}, htb_request());
          Netlink().set_qdisc("nic0", {0x10000, 0x10001},
                              htb_class_request({.rate = 125000, .burst = 5000, .quantum = 3000}));
        } else {
          const tc_prio_qopt bands = {3, {1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}};
          add_qdisc("nic0", TC_H_ROOT, 0x80040000, "prio", &bands, sizeof(bands));
        }
      };
      if (!kernel_can(add)) continue;
      const std::vector<RawQdisc> before = read_qdiscs(index);
      RunningGuard guard(nic0());
      require_has(guard.hello(),
                  "refused nic0 cannot be restored exactly: a qdisc of kind " + kind);
      require(guard.wait() == kExitFailed, "a failure");
      require(read_qdiscs(index) == before, kind + " is as it was");
      require(shaped_interfaces().empty(), "and nothing is written down");
    }
  });
}

TEST(Guard, RefusesWhatIsNoNic) {
  with_nics([] {
    Netlink().set_up("lo");
    Netlink().add_link("down0", "bridge");
    for (const auto& [name, reason] : {std::pair{"lo", "loopback"}, std::pair{"down0", "is down"},
                                       std::pair{"nic7", "there is no interface 'nic7'"},
                                       std::pair{"../../etc/passwd", "no interface"}}) {
      GuardOptions options;
      options.interface = name;
      RunningGuard guard(options);
      require(guard.hello().starts_with("refused "), guard.hello());
      require_has(guard.hello(), reason);
    }
    require(shaped_interfaces().empty(), "nothing is written down");
  });
}

using Burdens = std::vector<std::string>;

TEST(Burdens, ADefaultRoute) {
  with_nics([] {
    require(burdens_of("nic0", {}).empty(), "free at first");
    add_default_route("nic0", "10.1.0.254");
    require(burdens_of("nic0", {}) == Burdens{"nic0 carries the default route"}, "nic0");
    require(burdens_of("nic1", {}).empty(), "nic1 is free");
  });
}

TEST(Burdens, TheWayToTheController) {
  with_nics([] {
    require(burdens_of("nic1", {"10.2.0.77"}) ==
                Burdens{"nic1 carries the connection to 10.2.0.77, which controls this host"},
            "by the subnet's route");
    require(burdens_of("nic0", {"10.2.0.77"}).empty(), "nic0 is free");
    require(burdens_of("nic0", {"10.1.0.1"}).empty(), "an address of this host's own");
    require(burdens_of("nic0", {"203.0.113.9"}).empty(), "no route to it");
    require(burdens_of("nic0", {"fe80::1%nic0"}).size() == 1, "a link-local peer");
    add_default_route("nic0", "10.1.0.254");
    require(burdens_of("nic0", {"203.0.113.9"}).size() == 2, "by the default route");
  });
}

TEST(Burdens, ThroughABridge) {
  with_nics([] {
    Netlink netlink;
    netlink.add_link("br0", "bridge");
    netlink.enslave("nic0", "br0");
    netlink.add_address("br0", "10.9.0.1/24");
    netlink.set_up("br0");
    add_default_route("br0", "10.9.0.254");
    require(burdens_of("nic0", {}) == Burdens{"nic0 is below br0, which carries the default route"},
            "below");
    require(burdens_of("br0", {}).size() == 1, "itself");
    require(burdens_of("nic1", {}).empty(), "nic1 is free");
  });
}

TEST(Burdens, NamesWhatIsWrong) {
  with_nics([] { burdens_of("nic0", {"not-an-address"}); }, kExitUsage);
  with_nics([] { burdens_of("nic9", {}); }, kExitFailed);
}

TEST(Burdens, TheEnvironmentTellsWhoControls) {
  setenv("SSH_CONNECTION", "192.0.2.7 50022 192.0.2.1 22", 1);
  setenv("SLURM_LAUNCH_NODE_IPADDR", "192.0.2.9", 1);
  EXPECT_EQ(controlling_addresses(), (Burdens{"192.0.2.7", "192.0.2.9"}));
  unsetenv("SSH_CONNECTION");
  unsetenv("SLURM_LAUNCH_NODE_IPADDR");
  EXPECT_EQ(controlling_addresses(), Burdens{});
}

TEST(NicLink, ARateBothWaysAndHowItIsKept) {
  for (const char* good :
       {"rate=10mbit", "rate=10mbit,burst=20kb,queue=100kb", "rate=1gbit,shaper=htb"})
    EXPECT_EQ(why_not_on_a_nic(parse_link_spec(good)), "") << good;
}

TEST(NicLink, NothingThatNeedsMoreThanWhatLeavesTheHost) {
  for (const char* bad :
       {"rate=10mbit,delay=1ms", "rate=10mbit,loss=1%", "lte", "up.rate=1mbit,down.rate=2mbit",
        "rate=10mbit,place=switch", "rate=10mbit,mtu=9000", "rate=10mbit,overhead=24",
        "rate=10mbit,shaper=netem"})
    EXPECT_NE(why_not_on_a_nic(parse_link_spec(bad)), "") << bad;
  EXPECT_NE(why_not_on_a_nic(LinkSpec{}), "");
}

TEST(NicLink, TakesThePlaceOfWhatIsThere) {
  const KernelFeatures features = probe_kernel();
  with_nics([&] {
    for (const char* link : {"rate=10mbit", "rate=20mbit,shaper=htb", "rate=30mbit"}) {
      if (!missing_for(parse_link_spec(link), features).empty()) continue;
      throttle_nic("nic0", parse_link_spec(link));
      const std::vector<RawQdisc> now = read_qdiscs(interface_index("nic0"));
      const bool htb = std::string(link).find("htb") != std::string::npos;
      require(now.at(0).kind == (htb ? "htb" : "tbf") && now[0].handle == kOurHandle, link);
    }
    restore_qdiscs(interface_index("nic0"), {RawQdisc{.parent = 0xffffffff, .kind = "noqueue"}});
  });
}

// A token bucket drops every frame that is larger than itself.
TEST(NicLink, HoldsTheFramesOfItsInterface) {
  with_nics([] {
    Netlink().set_frame_limits("nic0", 9000, kManySegments);
    const LinkSpec link = parse_link_spec("rate=10mbit");
    throttle_nic("nic0", link);
    // 1 ms of the rate, 1250 bytes, is less than two frames of 9014 bytes. The queue is 256 KiB.
    const QdiscRequest expected =
        tbf_request({.rate = 1250000, .burst = default_burst(10e6, 9014), .limit = 262144});
    require_is(settings_of(expected.mismatches(root_qdisc("nic0").options)), "");
    require(nic_drift("nic0", link).empty(), "no drift");
    for (const std::string small : {"burst=5000", "queue=5000"})
      require_has(
          input_error([&] { throttle_nic("nic0", parse_link_spec("rate=10mbit," + small)); }),
          small + " is smaller than a frame of nic0 (9014 bytes at its MTU of 9000)");
  });
}

}  // namespace

}  // namespace thinpipe
