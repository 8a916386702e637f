// The gate's message against a layout written by hand from linux/pkt_sched.h.
#include "netem/schedule/gate.h"

#include <gtest/gtest.h>

#include "tests/netem/hex.h"
#include "tests/netem/mismatches.h"

namespace thinpipe {
namespace {

// tc_ratespec: cell_log, linklayer, overhead (2), cell_align (2), mpu (2), rate (4).
TEST(Gate, OpenIsNoThrottle) {
  const QdiscRequest request = gate_request({.open = true, .cut = 12500, .limit = 625000});
  EXPECT_EQ(request.kind, "tbf");
  EXPECT_EQ(hex(request.options),
            "28000100 00010000 00000000 ffffffff 00000000 00000000 00000000 68890900 04000000 "
            "00000000 "                    // limit; 250 ns at 50 GB/s are 4 ticks
            "0c000400 00743ba4 0b000000 "  // 50000000000
            "08000600 d4300000");          // the bucket, to which packets are cut
  EXPECT_EQ(settings_of(request.mismatches(request.options)), "");
}

TEST(Gate, ShutTakesEveryPacketForLargerThanItsBucket) {
  const QdiscRequest request = gate_request({.open = false, .cut = 12500, .limit = 625000});
  // (65535 - 12500) bytes a millisecond: 53035000 bytes/s, at which 12500 take 235.7 us.
  EXPECT_EQ(
      hex(request.options),
      "28000100 00010000 0000ffff f83f2903 00000000 00000000 00000000 68890900 630e0000 00000000");
  EXPECT_EQ(settings_of(request.mismatches(request.options)), "");
  // However large packets are cut when it is open.
  const QdiscRequest wide = gate_request({.open = false, .cut = 80000, .limit = 625000});
  EXPECT_EQ(hex(wide.options).substr(18, 17), "0000ffff 18755400");  // 5535000 bytes/s: 60000 fit
}

TEST(Gate, NamesWhatTheKernelKeepsOtherwise) {
  const QdiscRequest open = gate_request({.open = true, .cut = 12500, .limit = 625000});
  const QdiscRequest shut = gate_request({.open = false, .cut = 12500, .limit = 5000});
  EXPECT_EQ(settings_of(open.mismatches(shut.options)),
            "gate rate in bytes/s (TCA_TBF_RATE64): 50000000000 53035000\n"
            "gate limit (TCA_TBF_PARMS): 625000 5000\n"
            "gate mpu (TCA_TBF_PARMS): 0 65535\n"
            "gate bucket in 64 ns of transmit time (TCA_TBF_PARMS): 4 3683\n");
}

}  // namespace
}  // namespace thinpipe
