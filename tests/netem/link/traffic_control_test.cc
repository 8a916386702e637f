// Qdiscs of an interface: as tc sees them, as they are read back, and as a link requests them.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "netem/file_descriptor.h"
#include "netem/link/netlink.h"
#include "netem/link/qdisc.h"
#include "netem/link/shaping.h"
#include "netem/probe.h"
#include "tests/netem/helpers.h"

namespace thinpipe {
namespace {

using nlohmann::json;

constexpr const char* kInterface = "a0";

const char* tc_program() {
  for (const char* path : {"/usr/sbin/tc", "/sbin/tc", "/usr/bin/tc"})
    if (access(path, X_OK) == 0) return path;
  return nullptr;
}

// Output of tc for the interface.
std::string tc_text(const std::string& options) {
  const std::string command = std::string(tc_program()) + " " + options + " dev " + kInterface;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  require(pipe != nullptr, command);
  std::string text;
  std::array<char, 4096> block;
  while (const std::size_t got = fread(block.data(), 1, block.size(), pipe.get()))
    text.append(block.data(), got);
  return text;
}

json tc(const std::string& options) { return json::parse(tc_text("-j " + options)).at(0); }

void expect_near(const json& found, double wanted, double tolerance, const std::string& what) {
  require(found.is_number() && std::fabs(found.get<double>() - wanted) <= tolerance,
          what + ": wanted " + std::to_string(wanted) + ", tc says " + found.dump());
}

// Runs `body` with an interface and a socket in a sandbox.
void with_interface(const std::function<void(Netlink&)>& body) {
  expect_in_sandbox([&] {
    Netlink netlink;
    const FileDescriptor here(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    netlink.add_veth(kInterface, "a1", here.get());
    netlink.set_up(kInterface);
    body(netlink);
  });
}

Shaping port_of(const std::string& link, std::uint64_t stream = 0) {
  return shaping_of(parse_link_spec(link), stream).port;
}

// The whole range: settings are read back inside set_qdisc, which throws if they differ.
TEST(TrafficControl, EveryRateIsTaken) {
  const bool has_htb = probe_kernel().htb.available;
  with_interface([&](Netlink& netlink) {
    for (const std::string shaper : {"tbf", "htb"}) {
      if (shaper == "htb" && !has_htb) continue;
      for (const char* rate :
           {"1kbit", "10kbit", "1mbit", "123456789bit", "34.5gbit", "40gbit", "100gbit"})
        install(netlink, kInterface, port_of(fmt::format("rate={},shaper={}", rate, shaper)));
    }
  });
}

TEST(TrafficControl, TcDecodesTbfAsItWasAsked) {
  if (tc_program() == nullptr) GTEST_SKIP() << "tc is not installed";
  with_interface([](Netlink& netlink) {
    for (const TbfSettings& asked :
         {TbfSettings{125, 3028, 5000, 0}, TbfSettings{12500000, 12500, 625000, 24},
          TbfSettings{12500000000, 12500000, 16000000, 0}}) {
      netlink.set_qdisc(kInterface, {}, tbf_request(asked));
      const json plain = tc("qdisc show"), raw = tc("-r qdisc show");
      const json& options = plain.at("options");
      require(plain.at("kind") == "tbf" && plain.at("root") == true, plain.dump());
      expect_near(options.at("rate"), static_cast<double>(asked.rate), 0, "rate");
      // tc prints the bucket in whole microseconds of the rate; the kernel keeps overhead in it.
      expect_near(options.at("burst"), asked.burst + asked.overhead,
                  2 + 2e-6 * static_cast<double>(asked.rate), "burst");
      expect_near(raw.at("options").at("limit"), asked.limit, 0, "limit");
      expect_near(options.value("overhead", 0), asked.overhead, 0, "overhead");
    }
  });
}

// Fractions as tc has them, within its six digits.
void expect_share(const json& options, const char* name, double share, double correlation) {
  const json& found = options.at(std::string(name) == "loss" ? "loss-random" : name);
  expect_near(found.at(name), share, 1e-6, name);
  expect_near(found.at("correlation"), correlation, 1e-6, name);
}

TEST(TrafficControl, TcDecodesNetemAsItWasAsked) {
  if (tc_program() == nullptr) GTEST_SKIP() << "tc is not installed";
  if (!probe_kernel().netem.available) GTEST_SKIP() << probe_kernel().netem.detail;
  with_interface([](Netlink& netlink) {
    const auto told = [&](const char* link) {
      const Shaping port = port_of(link);
      netlink.set_qdisc(kInterface, port[0].at, port[0].request);  // changed in place
      return tc("qdisc show").at("options");
    };
    json options = told(
        "rate=40gbit,shaper=netem,overhead=24,queue=15140,delay=20ms,jitter=1ms,loss=1%,"
        "duplicate=2%,corrupt=3%,reorder=4%,gap=5");
    // 40 Gbit/s for 24 ms are 79260 frames of 1514 bytes, rounded up, and ten wait.
    expect_near(options.at("limit"), 79261 + 10, 1, "limit");
    expect_near(options.at("delay").at("delay"), 0.02, 1e-9, "delay");
    expect_near(options.at("delay").at("jitter"), 0.001, 1e-9, "jitter");
    expect_near(options.at("rate").at("rate"), 5e9, 0, "rate");
    expect_near(options.at("rate").at("packetoverhead"), 24, 0, "overhead");
    expect_near(options.at("gap"), 5, 0, "gap");
    expect_share(options, "loss", 0.01, 0);
    expect_share(options, "duplicate", 0.02, 0);
    expect_share(options, "corrupt", 0.03, 0);
    expect_share(options, "reorder", 0.04, 0);
    // A correlated chance is set as the threshold that hits its fraction.
    options = told("delay=1ms,loss=1%/25%,duplicate=2%/50%,corrupt=3%/10%,reorder=4%/20%");
    expect_share(options, "loss", correlated_threshold(0.01, 0.25), 0.25);
    expect_share(options, "duplicate", correlated_threshold(0.02, 0.5), 0.5);
    expect_share(options, "corrupt", correlated_threshold(0.03, 0.1), 0.1);
    expect_share(options, "reorder", correlated_threshold(0.04, 0.2), 0.2);
    options = told("loss=ge:1%/10%/90%/0.1%");
    const json& bursts = options.at("loss-gemodel");
    expect_near(bursts.at("p"), 0.01, 1e-6, "p");
    expect_near(bursts.at("r"), 0.1, 1e-6, "r");
    expect_near(bursts.at("1-h"), 0.9, 1e-6, "1-h");
    expect_near(bursts.at("1-k"), 0.001, 1e-6, "1-k");
    // Nothing of all that was set before is left.
    for (const char* old : {"delay", "duplicate", "corrupt", "reorder", "rate", "loss-random"})
      require(!options.contains(old), std::string(old) + " was kept: " + options.dump());
  });
}

TEST(TrafficControl, TcDecodesHtbAsItWasAsked) {
  if (tc_program() == nullptr) GTEST_SKIP() << "tc is not installed";
  if (!probe_kernel().htb.available) GTEST_SKIP() << probe_kernel().htb.detail;
  with_interface([](Netlink& netlink) {
    // tc 6.1 prints classes as text only; `buffer` are the kernel's own ticks.
    for (const auto& [text, printed] :
         {std::pair{"rate=100mbit,shaper=htb,overhead=24", "rate 100Mbit overhead 24 ceil 100Mbit"},
          std::pair{"rate=40gbit,shaper=htb,burst=5mb", "rate 40Gbit ceil 40Gbit"}}) {
      const LinkSpec link = parse_link_spec(text).with_defaults();
      install(netlink, kInterface, shaping_of(link).port);
      const json root = tc("qdisc show");
      require(root.at("kind") == "htb" && root.at("options").at("default") == "0x1", root.dump());
      const std::string one = tc_text("-d -r class show");
      const std::uint32_t ticks = transmit_ticks(link.down.burst, link.down.rate / 8);
      for (const std::string& part :
           {std::string(printed), std::string("quantum 15140"),
            fmt::format("buffer [{:08x}] cbuffer [{:08x}]", ticks, ticks)})
        require_has(one, part);
    }
  });
}

TEST(TrafficControl, NetemTakesEverySetting) {
  if (!probe_kernel().netem.available) GTEST_SKIP() << probe_kernel().netem.detail;
  with_interface([](Netlink& netlink) {
    for (const char* link :
         {"rate=1mbit,delay=100ms,jitter=10ms,dist=pareto,loss=1%/30%",
          "rate=40gbit,shaper=netem,overhead=24,delay=5s,loss=ge:1%/10%/90%/0.1%",
          "delay=1ms,reorder=25%/50%,gap=5,duplicate=1%/10%,corrupt=0.1%/20%"})
      install(netlink, kInterface, port_of(link));
  });
}

// Changed in place, a netem keeps none of its earlier settings.
TEST(TrafficControl, AChangedNetemKeepsNothing) {
  if (!probe_kernel().netem.available) GTEST_SKIP() << probe_kernel().netem.detail;
  with_interface([](Netlink& netlink) {
    for (const char* link :
         {"rate=40gbit,shaper=netem,overhead=24,delay=5s,jitter=1ms,loss=ge:1%/10%,reorder=25%/"
          "50%,gap=5,duplicate=1%/10%,corrupt=0.1%/20%",
          "delay=1ms"}) {
      const Shaping port = port_of(link);
      netlink.set_qdisc(kInterface, port[0].at, port[0].request);
    }
  });
}

TEST(TrafficControl, FrameLimitsAreTakenAndReadBack) {
  with_interface([](Netlink& netlink) {
    netlink.set_frame_limits(kInterface, 9000, 1);
    netlink.set_frame_limits(kInterface, 1500, 65535);
  });
}

TEST(TrafficControl, ErrorsNameTheInterfaceAndTheAttempt) {
  const bool has_htb = probe_kernel().htb.available;
  with_interface([&](Netlink& netlink) {
    const auto error_of = [&](const char* name, TrafficHandle at, const QdiscRequest& request) {
      return run_error([&] { netlink.set_qdisc(name, at, request); });
    };
    const QdiscRequest tbf = tbf_request({.rate = 1000, .burst = 2000, .limit = 5000});
    require_has(error_of("nowhere0", {}, tbf), "nowhere0");
    const std::string unknown = error_of(kInterface, {}, {"nosuchqdisc", {}, tbf.mismatches});
    require(unknown.starts_with("qdisc nosuchqdisc on a0: this kernel has no nosuchqdisc"),
            unknown);
    // A setting that is read back differently: set with one request, compared with another.
    const QdiscRequest other = tbf_request({.rate = 1001, .burst = 2000, .limit = 5000});
    require_has(error_of(kInterface, {}, {"tbf", tbf.options, other.mismatches}),
                "a0: the kernel applied other settings: tbf rate in bytes/s (TCA_TBF_RATE64): "
                "requested 1001, got 1000");
    if (!has_htb) return;
    // The same of a class.
    netlink.delete_root_qdisc(kInterface);
    netlink.set_qdisc(kInterface, {}, htb_request());
    const std::string of_class =
        error_of(kInterface, {0x10000, 0x10001},
                 {"htb", htb_class_request({.rate = 1000, .burst = 2000, .quantum = 2000}).options,
                  htb_class_request({.rate = 1000, .burst = 2000, .quantum = 2001}).mismatches});
    require(of_class ==
                "class 1:1 of htb on a0: the kernel applied other settings: htb quantum "
                "(TCA_HTB_PARMS): requested 2001, got 2000",
            of_class);
  });
}

// "tbf@1: netem@1:1" and so on.
std::string kinds(const Shaping& shaping) {
  std::string text;
  for (const auto& [at, request] : shaping)
    text += fmt::format("{}{}{}@{:x}:{:x}", text.empty() ? "" : " ", at.is_class() ? "class " : "",
                        request.kind, at.parent >> 16, at.parent & 0xffff);
  return text;
}

std::string places(const char* link) {
  const LinkShaping shaping = shaping_of(parse_link_spec(link));
  return kinds(shaping.host) + " | " + (shaping.uplink ? kinds(*shaping.uplink) : "-") + " | " +
         kinds(shaping.port);
}

TEST(Shaping, PutsEverythingInItsPlace) {
  EXPECT_EQ(places("unthrottled"), "bfifo@ffff:ffff | - | bfifo@ffff:ffff");
  EXPECT_EQ(places("rate=1mbit"), "tbf@ffff:ffff | - | tbf@ffff:ffff");
  EXPECT_EQ(places("up.rate=1mbit"), "tbf@ffff:ffff | - | bfifo@ffff:ffff");
  EXPECT_EQ(places("rate=1mbit,shaper=htb"),
            "htb@ffff:ffff class htb@1:0 bfifo@1:1 | - | htb@ffff:ffff class htb@1:0 bfifo@1:1");
  EXPECT_EQ(places("rate=1mbit,delay=1ms"), "tbf@ffff:ffff | - | tbf@ffff:ffff netem@1:1");
  EXPECT_EQ(places("rate=1mbit,up.delay=1ms"), "tbf@ffff:ffff | netem@ffff:ffff | tbf@ffff:ffff");
  EXPECT_EQ(places("rate=1mbit,down.shaper=htb,loss=1%"),
            "tbf@ffff:ffff | - | htb@ffff:ffff class htb@1:0 netem@1:1");
  EXPECT_EQ(places("rate=1mbit,place=switch"), "bfifo@ffff:ffff | tbf@ffff:ffff | tbf@ffff:ffff");
  EXPECT_EQ(places("rate=1mbit,place=switch,up.delay=1ms"),
            "bfifo@ffff:ffff | tbf@ffff:ffff netem@1:1 | tbf@ffff:ffff");
  EXPECT_EQ(places("rate=1mbit,shaper=netem,delay=1ms"), "netem@ffff:ffff | - | netem@ffff:ffff");
  EXPECT_EQ(places("delay=1ms"), "bfifo@ffff:ffff | - | netem@ffff:ffff");
}

TEST(Shaping, IsWhatTheLinkSays) {
  // 100 Mbit/s: 12.5 MB/s, a bucket of 1 ms, a queue of 50 ms.
  const LinkShaping plain = shaping_of(parse_link_spec("rate=100mbit,overhead=24"));
  EXPECT_EQ(hex(plain.host[0].request.options),
            hex(tbf_request({.rate = 12500000, .burst = 12500, .limit = 625000, .overhead = 24})
                    .options));
  const LinkShaping htb = shaping_of(parse_link_spec("rate=100mbit,shaper=htb"));
  EXPECT_EQ(hex(htb.port[1].request.options),
            hex(htb_class_request({.rate = 12500000, .burst = 12500, .quantum = 15140}).options));
  EXPECT_EQ(hex(htb.port[2].request.options), hex(fifo_request(625000).options));
}

TEST(Shaping, NetemHoldsThePipeAndTheQueue) {
  // 100 Mbit/s for 121.12 ms are 1000 frames of 1514 bytes; the queue of 15140 is ten more.
  EXPECT_EQ(netem_limit(parse_link_spec("rate=100mbit,delay=121.12ms,queue=15140").down, 1514),
            1010U);
  // Jitter lengthens the pipe by up to four times its deviation.
  EXPECT_EQ(
      netem_limit(parse_link_spec("rate=100mbit,delay=121.12ms,jitter=30.28ms,queue=15140").down,
                  1514),
      2010U);
  // Without a rate: 100 Gbit/s for 1 ms are 8256.3 frames; never fewer than 1000.
  EXPECT_EQ(netem_limit(parse_link_spec("delay=1ms").down, 1514), 8257U);
  EXPECT_EQ(netem_limit(parse_link_spec("loss=1%").down, 1514), 1000U);
}

// netem's attribute 14, the seed, or "" without one.
std::string seed_of(const char* link, std::uint64_t stream) {
  const std::string bytes = hex(port_of(link, stream).back().request.options);
  const std::size_t at = bytes.find("0c000e00");
  return at == std::string::npos ? "" : bytes.substr(at);
}

TEST(Shaping, HostsThatShareASeedDrawDifferently) {
  EXPECT_EQ(seed_of("loss=1%", 0), "");
  EXPECT_NE(seed_of("loss=1%,seed=1", 0), "");
  EXPECT_EQ(seed_of("loss=1%,seed=1", 0), seed_of("loss=1%,seed=1", 0));
  EXPECT_NE(seed_of("loss=1%,seed=1", 0), seed_of("loss=1%,seed=1", 1));
  EXPECT_NE(seed_of("loss=1%,seed=1", 0), seed_of("loss=1%,seed=2", 0));
}

TEST(Shaping, TheDirectionsOfALinkDrawDifferently) {
  const LinkSpec link = parse_link_spec("loss=1%,seed=1");
  EXPECT_NE(netem_seed(link, 0, true), netem_seed(link, 0, false));
  // Nor does a link's uplink draw what the next one's downlink does.
  EXPECT_NE(netem_seed(link, 1, true), netem_seed(link, 0, false));
}

}  // namespace

}  // namespace thinpipe
