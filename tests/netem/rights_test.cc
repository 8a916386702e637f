#include "netem/rights.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "netem/network.h"
#include "netem/sandbox.h"

namespace thinpipe {
namespace {

void lose(unsigned number) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  syscall(SYS_capget, &header, data);
  data[CAP_TO_INDEX(number)].effective &= ~CAP_TO_MASK(number);
  if (syscall(SYS_capset, &header, data) != 0) throw SystemError("capset");
}

TEST(Rights, ASandboxHasAllOfThem) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              return missing_rights().empty() && rights_advice().empty() ? 0 : 1;
            }),
            0);
}

TEST(Rights, WhatIsMissingIsNamed) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              lose(CAP_NET_ADMIN);
              if (missing_rights() != std::vector<std::string>{"CAP_NET_ADMIN"}) return 1;
              if (rights_advice().find("lacks CAP_NET_ADMIN,") == std::string::npos) return 2;
              try {
                network.set_links(parse_link_spec("rate=10mbit"));
                return 3;
              } catch (const RunError&) {
                // The kernel says no; nothing is set by half and called good.
              }
              lose(CAP_SYS_ADMIN);
              return missing_rights().size() == 2 ? 0 : 4;
            }),
            0);
}

}  // namespace
}  // namespace thinpipe
