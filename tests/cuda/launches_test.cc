// The number of kernel launches, copies and allocations does not depend on the number of tensors.
// Payloads that are decoded together are decoded as each alone.
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "compressors/cuda/grid/serial_device.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/make.h"
#include "tests/cuda/side_by_side.h"

namespace thinpipe::cuda {
namespace {

// Returns `count` shapes that take all kinds in turn: vectors and matrices with fewer elements than
// a tile, with more, with one element, and with none.
Shapes shapes(std::size_t count) {
  const Shapes kinds = {{300}, {50, 100}, {1}, {9000}, {70, 3}, {0}, {4097}};
  Shapes all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(kinds[i % kinds.size()]);
  return all;
}

class WaitCounter : public SerialDevice {
 public:
  void wait() override {
    ++waits;
    SerialDevice::wait();
  }
  int waits = 0;
};

class Model {
 public:
  Model(const std::string& spec, const Shapes& shapes) : infos_(tensors_of(shapes)) {
    for (const TensorInfo& info : infos_) {
      gradients_.push_back(array(info.elements));
      squares_.push_back(array(info.elements));
    }
    compressor_ = make_device_compressor<SerialDevice>(device_, parse_spec(spec), infos_, {});
  }

  void encode(std::uint64_t step) {
    std::vector<const float*> squares(squares_.begin(), squares_.end());
    std::vector<const float*> gradients(gradients_.begin(), gradients_.end());
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      const std::vector<float> values = drawn(infos_[i].elements, 100 * step + i);
      device_->upload(gradients_[i], values.data(), values.size() * sizeof(float));
    }
    const SerialDevice::Did before = did();
    compressor_->encode(gradients, {.step = step, .device_squares = squares});
    bytes_.clear();
    for (const EncodeReport& report : compressor_->finish()) bytes_.push_back(report.encoded_bytes);
    encoding_ = since(before);
  }
  std::vector<float*> outputs() {
    std::vector<float*> all;
    for (const TensorInfo& info : infos_) all.push_back(array(info.elements));
    return all;
  }
  void begin(std::size_t tensor, float* out) {
    begin(tensor, compressor_->device_payload(tensor), bytes_[tensor], out);
  }
  void begin(std::size_t tensor, const std::byte* payload, std::size_t bytes, float* out) {
    compressor_->begin_decode(tensor, payload, bytes, 0.5F, out);
  }
  void finish() { compressor_->finish_decodes(); }
  void decode(const std::vector<float*>& outputs) {
    const SerialDevice::Did before = did();
    for (std::size_t i = 0; i < infos_.size(); ++i) begin(i, outputs[i]);
    compressor_->finish_decodes();
    decoding_ = since(before);
  }
  void decode_alone(const std::vector<float*>& outputs) {
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      begin(i, outputs[i]);
      compressor_->finish_decodes();
    }
  }
  // Restores the first and the last element of every tensor, either in all tensors together or in
  // one tensor at a time.
  void give_back(bool together) {
    const std::vector<float> values = {0.5F, -1.25F};
    std::vector<DeviceReturn> returns;
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      const auto n = static_cast<std::uint32_t>(infos_[i].elements);
      const std::vector<std::uint32_t> positions = {0, n - 1};
      returns.push_back(
          {i, uploaded(*device_, positions), uploaded(*device_, values), n < 2 ? n : 2});
    }
    auto& sparse = dynamic_cast<DeviceSparsePayload&>(*compressor_);
    const SerialDevice::Did before = did();
    if (together) {
      sparse.give_back(returns);
    } else {
      for (const DeviceReturn& one : returns) {
        sparse.give_back({&one, 1});
        device_->wait();
      }
    }
    returning_ = since(before);
  }
  std::vector<std::byte> state(std::size_t tensor) {
    std::vector<std::byte> state;
    compressor_->save_state(tensor, state);
    return state;
  }

  // Simulated device memory is host memory.
  bool same(std::size_t tensor, const float* a, const float* b) const {
    return infos_[tensor].elements == 0 ||
           std::memcmp(a, b, infos_[tensor].elements * sizeof(float)) == 0;
  }

  std::size_t tensors() const { return infos_.size(); }
  WaitCounter& device() { return *device_; }
  std::size_t bytes(std::size_t tensor) const { return bytes_[tensor]; }
  const std::byte* payload(std::size_t tensor) const { return compressor_->device_payload(tensor); }
  const SerialDevice::Did& encoding() const { return encoding_; }
  const SerialDevice::Did& decoding() const { return decoding_; }
  const SerialDevice::Did& returning() const { return returning_; }

 private:
  float* array(std::size_t n) {
    return static_cast<float*>(device_->allocate((n + 1) * sizeof(float)));
  }
  // Returns the counts of all work enqueued so far.
  SerialDevice::Did did() const {
    device_->wait();
    return device_->did();
  }
  SerialDevice::Did since(const SerialDevice::Did& before) const {
    const SerialDevice::Did now = did();
    return {now.launches - before.launches, now.copies - before.copies,
            now.allocations - before.allocations};
  }

  std::shared_ptr<WaitCounter> device_ = std::make_shared<WaitCounter>();
  std::vector<TensorInfo> infos_;
  std::vector<float*> gradients_, squares_;
  std::unique_ptr<DeviceCompressor> compressor_;
  std::vector<std::size_t> bytes_;
  SerialDevice::Did encoding_, decoding_, returning_;
};

std::vector<std::string> specs() {
  return words_in(R"(
    topk:ratio=0.1,positions=raw32 topk:ratio=0.1,positions=index28
    topk:ratio=0.1,positions=bitmap topk:ratio=0.1,positions=run16
    topk:ratio=0.1,positions=golomb topk:ratio=0.1,positions=packed
    topk:ratio=0.1,positions=elias_gamma topk:ratio=0.1,positions=elias_delta
    topk:ratio=0.1,values=fp16 topk:ratio=0.1,values=int8 topk:ratio=0.1,values=int2
    topk:ratio=0.1,values=mean,positions=bitmap randomk:ratio=0.1
    sparseloco:chunk=64,k=20,values=exp4 none fp16 natural int8 signsgd onebit
    onebit:columns=false mqe1bit:bucket=100 terngrad qsgd:bits=3,bucket=33
    qsgd:coding=elias,bucket=0 qsgd:coding=elias,bits=3,bucket=100
    qsgd:coding=elias,bits=4,bucket=5000 3lc:s=1.9 3lc:bucket=100 3lc:zre=false stoch3 blockint8
    fp8 mxfp4 sdp4bit thc demo demo:chunk=16,values=int8 powersgd:exchange=allgather,rank=2)");
}

class LaunchesTest : public ::testing::TestWithParam<std::string> {};

TEST_P(LaunchesTest, ManyTensorsTakeAsManyAsFew) {
  Model few(GetParam(), shapes(7));
  Model many(GetParam(), shapes(70));
  for (Model* model : {&few, &many}) {
    for (std::uint64_t step = 0; step < 3; ++step) {
      model->encode(step);
      const auto alone = model->outputs(), together = model->outputs();
      model->decode(together);
      model->decode_alone(alone);
      for (std::size_t i = 0; i < model->tensors(); ++i)
        ASSERT_TRUE(model->same(i, alone[i], together[i])) << "tensor " << i << ", step " << step;
    }
    EXPECT_EQ(model->encoding().allocations, 0U);
    EXPECT_EQ(model->decoding().allocations, 0U);
  }
  EXPECT_GT(few.decoding().launches, 0U);
  EXPECT_EQ(few.decoding().launches, many.decoding().launches);
  EXPECT_EQ(few.decoding().copies, many.decoding().copies);
  EXPECT_GT(few.encoding().launches, 0U);
  EXPECT_EQ(few.encoding().launches, many.encoding().launches);
  EXPECT_EQ(few.encoding().copies, many.encoding().copies);
}

INSTANTIATE_TEST_SUITE_P(All, LaunchesTest, ::testing::ValuesIn(specs()));

// DGC lowers the threshold up to ten times where too few elements exceed it, which samples of small
// tensors often cause.
TEST(Launches, RepeatedSelectionsOfAllTensorsGoTogether) {
  constexpr std::size_t kLaunches =
      12;  // of a selection and its payloads; repeated ones take fewer
  Model model("dgc:ratio=0.01,positions=raw32", shapes(140));
  bool repeated = false;
  for (std::uint64_t step = 0; step < 6; ++step) {
    model.encode(step);
    EXPECT_EQ(model.encoding().allocations, 0U);
    EXPECT_LE(model.encoding().launches, 11 * kLaunches);
    repeated = repeated || model.encoding().launches > kLaunches;
  }
  EXPECT_TRUE(repeated);
}

TEST(Launches, PayloadsOfOneTensorAreDecodedInOrder) {
  for (const std::string& spec : specs()) {
    SCOPED_TRACE(spec);
    Model model(spec, shapes(7));
    model.encode(0);
    const auto alone = model.outputs(), together = model.outputs();
    // Repeated tensors go into the next launch; the last payload waits for all before it.
    const std::vector<std::size_t> order = {1, 3, 1, 0, 3, 3, 4, 1};
    for (const std::size_t tensor : order) model.begin(tensor, together[tensor]);
    model.decode(together);
    for (const std::size_t tensor : order) {
      model.begin(tensor, alone[tensor]);
      model.finish();
    }
    model.decode_alone(alone);
    for (std::size_t i = 0; i < model.tensors(); ++i)
      EXPECT_TRUE(model.same(i, alone[i], together[i])) << "tensor " << i;
  }
}

TEST(Launches, RestoredElementsTakeOne) {
  for (const char* spec : {"topk:ratio=0.1", "topk:ratio=0.1,memory=momentum", "ef21:ratio=0.1",
                           "topk:ratio=0.1,memory=none"}) {
    SCOPED_TRACE(spec);
    Model alone(spec, shapes(70)), together(spec, shapes(70)), before(spec, shapes(70));
    for (Model* model : {&alone, &together, &before}) model->encode(0);
    alone.give_back(false);
    together.give_back(true);
    const bool keeps = std::string_view(spec).find("none") == std::string_view::npos;
    EXPECT_EQ(together.returning().launches, keeps ? 1U : 0U);
    EXPECT_EQ(together.returning().copies, keeps ? 1U : 0U);
    EXPECT_EQ(together.returning().allocations, 0U);
    std::size_t changed = 0;
    for (std::size_t i = 0; i < together.tensors(); ++i) {
      EXPECT_EQ(alone.state(i), together.state(i)) << "tensor " << i;
      changed += together.state(i) != before.state(i) ? 1 : 0;
    }
    EXPECT_EQ(changed, keeps ? 60U : 0U) << "all tensors with elements";
  }
}

class DecodesTest : public ::testing::TestWithParam<const char*> {
 protected:
  DecodesTest() : model_(GetParam(), Shapes(3, {5000})) { model_.encode(0); }

  Model model_;
};

TEST_P(DecodesTest, OneWaitForAllTensors) {
  const auto alone = model_.outputs(), together = model_.outputs();
  model_.decode_alone(alone);
  model_.device().waits = 0;
  for (std::size_t i = 0; i < model_.tensors(); ++i) model_.begin(i, together[i]);
  for (int time = 0; time < 2; ++time) {  // nothing is left for the second time
    model_.finish();
    EXPECT_EQ(model_.device().waits, 1);
  }
  for (std::size_t i = 0; i < model_.tensors(); ++i)
    EXPECT_TRUE(model_.same(i, alone[i], together[i])) << i;
}

TEST_P(DecodesTest, MorePayloadsThanTensorsNeedAnotherWait) {
  float *const alone = model_.outputs()[1], *const often = model_.outputs()[1];
  for (int i = 0; i < 4; ++i) {
    model_.begin(1, alone);
    model_.finish();
  }
  model_.device().waits = 0;
  for (int i = 0; i < 4; ++i) model_.begin(1, often);
  model_.finish();
  EXPECT_EQ(model_.device().waits, 2);
  EXPECT_TRUE(model_.same(1, alone, often));
}

TEST_P(DecodesTest, AMalformedPayloadIsNamedAndLaterOnesAreDecoded) {
  const auto out = model_.outputs();
  const auto refused = [&](std::size_t bytes, const std::byte* payload) {
    model_.begin(0, out[0]);
    try {
      model_.begin(2, payload, bytes, out[2]);
      model_.begin(1, out[1]);
      model_.finish();
    } catch (const PayloadError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  const std::size_t bytes = model_.bytes(2);
  EXPECT_NE(refused(bytes + (std::size_t{1} << 20), model_.payload(2)).find("tensor 'tensor2'"),
            std::string::npos);
  // 1 bits only: no compressor writes such counts, positions, codes and padding.
  auto* const ones = static_cast<std::byte*>(model_.device().allocate(bytes + 4));
  model_.device().wait();
  std::memset(ones, 0xff, bytes);
  EXPECT_NE(refused(bytes, ones).find("tensor 'tensor2'"), std::string::npos);
  model_.begin(1, out[1]);
  model_.finish();
}

// A code of 2 or 8 bits with 1 bits only is invalid.
INSTANTIATE_TEST_SUITE_P(All, DecodesTest,
                         ::testing::Values("topk:ratio=0.01", "topk:ratio=0.01,positions=golomb",
                                           "terngrad", "int8"));

}  // namespace
}  // namespace thinpipe::cuda
