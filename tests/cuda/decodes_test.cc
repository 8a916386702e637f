// Decoding of several payloads together, on a simulated GPU.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/error.h"
#include "compressors/cuda/grid/serial_device.h"
#include "compressors/cuda/make.h"
#include "tests/cuda/side_by_side.h"

namespace thinpipe::cuda {
namespace {

class CountingDevice : public SerialDevice {
 public:
  void wait() override {
    ++waits;
    SerialDevice::wait();
  }
  int waits = 0;
};

class DecodesTest : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr std::size_t kTensors = 3, kElements = 5000;

  void SetUp() override {
    std::vector<TensorInfo> tensors;
    for (std::size_t i = 0; i < kTensors; ++i)
      tensors.push_back({.name = "tensor-" + std::to_string(i),
                         .shape = {static_cast<std::int64_t>(kElements)},
                         .elements = kElements});
    compressor_ =
        make_device_compressor<SerialDevice>(device_, parse_spec(GetParam()), tensors, {});
    std::vector<const float*> gradients;
    for (std::size_t i = 0; i < kTensors; ++i) {
      const std::vector<float> drawn_values = drawn(kElements, i + 1);
      float* const gradient = array();
      device_->upload(gradient, drawn_values.data(), kElements * sizeof(float));
      gradients.push_back(gradient);
    }
    compressor_->encode(gradients, {});
    for (const EncodeReport& report : compressor_->finish()) bytes_.push_back(report.encoded_bytes);
  }

  float* array() { return static_cast<float*>(device_->allocate(kElements * sizeof(float))); }
  void begin(std::size_t tensor, float* out) {
    compressor_->begin_decode(tensor, compressor_->device_payload(tensor), bytes_[tensor], 0.5F,
                              out);
  }
  static bool same(const float* a, const float* b) {  // simulated device memory is host memory
    return std::memcmp(a, b, kElements * sizeof(float)) == 0;
  }

  std::shared_ptr<CountingDevice> device_ = std::make_shared<CountingDevice>();
  std::unique_ptr<DeviceCompressor> compressor_;
  std::vector<std::size_t> bytes_;
};

TEST_P(DecodesTest, OneWaitForAllTensors) {
  float *alone[kTensors], *together[kTensors];
  for (std::size_t i = 0; i < kTensors; ++i) {
    alone[i] = array();
    together[i] = array();
    compressor_->decode_add(i, compressor_->device_payload(i), bytes_[i], 0.5F, alone[i]);
  }
  device_->waits = 0;
  for (std::size_t i = 0; i < kTensors; ++i) begin(i, together[i]);
  compressor_->finish_decodes();
  EXPECT_EQ(device_->waits, 1);
  compressor_->finish_decodes();
  EXPECT_EQ(device_->waits, 1);
  for (std::size_t i = 0; i < kTensors; ++i) EXPECT_TRUE(same(alone[i], together[i])) << i;
}

TEST_P(DecodesTest, MorePayloadsThanTensorsNeedAnotherWait) {
  float *const once = array(), *const often = array();
  for (const float factor : {0.5F, 0.5F, 0.5F, 0.5F})
    compressor_->decode_add(1, compressor_->device_payload(1), bytes_[1], factor, once);
  device_->waits = 0;
  for (int i = 0; i < 4; ++i) begin(1, often);
  compressor_->finish_decodes();
  EXPECT_EQ(device_->waits, 2);
  EXPECT_TRUE(same(once, often));
}

TEST_P(DecodesTest, AMalformedPayloadIsNamedAndLaterOnesAreDecoded) {
  const auto refused = [&](std::size_t bytes, const std::byte* payload) {
    begin(0, array());
    try {
      compressor_->begin_decode(2, payload, bytes, 1, array());
      begin(1, array());
      compressor_->finish_decodes();
    } catch (const PayloadError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_NE(refused(bytes_[2] + (std::size_t{1} << 20), compressor_->device_payload(2))
                .find("tensor 'tensor-2'"),
            std::string::npos);
  // 1 bits only: no compressor writes such counts, positions, codes and padding.
  auto* const ones = static_cast<std::byte*>(device_->allocate(bytes_[2] + 4));
  device_->wait();
  std::memset(ones, 0xff, bytes_[2]);
  EXPECT_NE(refused(bytes_[2], ones).find("tensor 'tensor-2'"), std::string::npos);
  begin(1, array());
  compressor_->finish_decodes();
}

// A code of 2 or 8 bits with 1 bits only is invalid.
INSTANTIATE_TEST_SUITE_P(All, DecodesTest,
                         ::testing::Values("topk:ratio=0.01", "topk:ratio=0.01,positions=golomb",
                                           "terngrad", "int8"));

}  // namespace
}  // namespace thinpipe::cuda
