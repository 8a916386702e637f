// ResNet-20 and ResNet-32 for 32x32 images (He et al. 2016, sec. 4.2): three groups of three or
// five blocks with 16, 32 and 64 channels, parameter-free shortcuts (option A), batch normalisation
// with scale and shift: 269,722 and 464,154 parameters. Weights are drawn as in He et al. 2015.
#include <string>
#include <vector>

#include <torch/nn/functional/padding.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "workloads/training/model.h"

namespace thinpipe {

namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;

nn::Conv2d conv3x3(std::int64_t in, std::int64_t out, std::int64_t stride) {
  nn::Conv2d conv(nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false));
  nn::init::kaiming_normal_(conv->weight, 0, torch::kFanOut, torch::kReLU);
  return conv;
}

class Block : public nn::Module {
 public:
  Block(std::int64_t in, std::int64_t out, std::int64_t stride)
      : stride_(stride),
        widen_(out - in),
        conv1_(register_module("conv1", conv3x3(in, out, stride))),
        bn1_(register_module("bn1", nn::BatchNorm2d(out))),
        conv2_(register_module("conv2", conv3x3(out, out, 1))),
        bn2_(register_module("bn2", nn::BatchNorm2d(out))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor y = bn2_(conv2_(torch::relu(bn1_(conv1_(x)))));
    return torch::relu(y + shortcut(x));
  }

 private:
  // Option A: every second pixel, and zeros for the channels that are new.
  torch::Tensor shortcut(const torch::Tensor& x) const {
    if (stride_ == 1 && widen_ == 0) return x;
    const torch::Tensor small =
        x.slice(2, 0, c10::nullopt, stride_).slice(3, 0, c10::nullopt, stride_);
    return F::pad(small, F::PadFuncOptions({0, 0, 0, 0, widen_ / 2, widen_ - widen_ / 2}));
  }

  std::int64_t stride_;
  std::int64_t widen_;
  nn::Conv2d conv1_;
  nn::BatchNorm2d bn1_;
  nn::Conv2d conv2_;
  nn::BatchNorm2d bn2_;
};

class CifarResNet : public TrainableModel {
 public:
  explicit CifarResNet(int blocks)
      : conv1_(register_module("conv1", conv3x3(3, 16, 1))),
        bn1_(register_module("bn1", nn::BatchNorm2d(16))) {
    std::int64_t in = 16;
    for (int group = 0; group < 3; ++group) {
      const std::int64_t out = 16 << group;
      for (int block = 0; block < blocks; ++block) {
        const std::int64_t stride = group > 0 && block == 0 ? 2 : 1;
        const std::string name = "layer" + std::to_string(group + 1) + "_" + std::to_string(block);
        blocks_.push_back(register_module(name, std::make_shared<Block>(in, out, stride)));
        in = out;
      }
    }
    fc_ = register_module("fc", nn::Linear(64, 10));
  }

  torch::Tensor scores(const torch::Tensor& inputs, Carry& /*carry*/) override {
    torch::Tensor x = torch::relu(bn1_(conv1_(inputs)));
    for (const auto& block : blocks_) x = block->forward(x);
    return fc_(x.mean({2, 3}));
  }

 private:
  nn::Conv2d conv1_;
  nn::BatchNorm2d bn1_;
  std::vector<std::shared_ptr<Block>> blocks_;
  nn::Linear fc_{nullptr};
};

}  // namespace

std::shared_ptr<TrainableModel> make_cifar_resnet(int blocks) {
  return std::make_shared<CifarResNet>(blocks);
}

}  // namespace thinpipe
