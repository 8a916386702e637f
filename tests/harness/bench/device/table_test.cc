#include "harness/bench/device/table.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(DeviceTable, TimesAreOfACall) {
  BenchGroup group{.tensor = "laplace",
                   .elements = 2'000'000,
                   .device = kDeviceCuda,
                   .device_name = "a GPU",
                   // ns/element: 4 us and 2 us of a call
                   .roofline = {.read = {{1, 0.002}, {2, 0.001}}, .copy = 0.004, .t_r = 0.001}};
  group.rows.push_back({.spec = parse_spec("none"),
                        .compressor = "none",
                        .simd = "sm_90",
                        .encode = 0.004,
                        .decode = 0.004,
                        .encode_wall = 0.01,
                        .t_r = 0.001,
                        .quality = {std::numeric_limits<double>::quiet_NaN(), 32, 0, 1}});
  group.rows.push_back({.spec = parse_spec("topk"),
                        .compressor = "topk",
                        .simd = "sm_90",
                        .encode = 0.006,
                        .decode = 0.0005,
                        .encode_wall = 0.012,
                        .t_r = 0.001,
                        .quality = {1, 0.64, 0.9, 1}});
  EXPECT_EQ(device_table(group),
            "laplace, 2000000 elements, a GPU: t_R = 2.00 us\n"
            "  read 4.00 (1 stream), 2.00 (2 streams)\n"
            "  copy 8.00\n"
            "  compressor  encode  encode      and  decode  k^/k    bits    error,  passes\n"
            "                  us   / t_R  back us      us        / elem  relative\n"
            "  none          8.00    4.00     20.0    8.00     -    32.0     0.000       1\n"
            "* topk          12.0    6.00     24.0    1.00  1.00   0.640     0.900       1\n");
}

TEST(DeviceTable, TheHeadingSaysWhatItRanAt) {
  BenchDevice device{.description = {.name = "a GPU",
                                     .architecture = "sm_90",
                                     .driver = "13.0",
                                     .runtime = "13.0",
                                     .l2_bytes = 50'000'000},
                     .state = std::nullopt};
  EXPECT_EQ(device_heading(device),
            "a GPU (sm_90), L2 cache 50 MB, CUDA 13.0, driver for CUDA 13.0\n");
  device.state = {.driver = "580.1", .sm_hz = 1'980'000'000, .memory_hz = std::nullopt};
  EXPECT_EQ(device_heading(device),
            "a GPU (sm_90), L2 cache 50 MB, CUDA 13.0, driver for CUDA 13.0 (580.1); at work: SM "
            "1980 MHz, memory unknown\n");
}

}  // namespace
}  // namespace thinpipe
