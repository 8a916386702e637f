// The image models: LeNet-5, ResNet-20 and ResNet-32, VGG16.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// types.h comes first, because libtorch 1.13's padding.h needs its declarations.
#include <torch/types.h>

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

// LeNet-5 as in Caffe's examples/mnist/lenet_train_test.prototxt: 431,080 parameters.
class LeNet5 : public TrainableModel {
 public:
  LeNet5()
      : conv1_(register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 20, 5)))),
        conv2_(register_module("conv2", nn::Conv2d(nn::Conv2dOptions(20, 50, 5)))),
        ip1_(register_module("ip1", nn::Linear(800, 500))),
        ip2_(register_module("ip2", nn::Linear(500, 10))) {
    // Glorot's uniform initialisation and zero biases. (Caffe's "xavier" filler counts only the
    // inputs by default, and has another factor.)
    const torch::NoGradGuard no_grad;
    for (auto& item : named_parameters()) {
      if (item.value().dim() > 1) {
        nn::init::xavier_uniform_(item.value());
      } else {
        nn::init::zeros_(item.value());
      }
    }
  }

  torch::Tensor scores(const torch::Tensor& inputs, Carry& /*carry*/) override {
    // As in the prototxt there is no activation after the convolutions.
    torch::Tensor x = torch::max_pool2d(conv1_(inputs), 2);
    x = torch::max_pool2d(conv2_(x), 2);
    x = torch::relu(ip1_(x.flatten(1)));
    return ip2_(x);
  }

 private:
  nn::Conv2d conv1_;
  nn::Conv2d conv2_;
  nn::Linear ip1_;
  nn::Linear ip2_;
};

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
  // Option A: every second pixel, and zeros for the new channels.
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

// ResNet-20 and ResNet-32 for 32x32 images (He et al. 2016, sec. 4.2): three groups of three or
// five blocks with 16, 32 and 64 channels, parameter-free shortcuts (option A), batch normalisation
// with scale and shift: 269,722 and 464,154 parameters. Weights are drawn as in He et al. 2015.
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

// Channels of the convolutions; 0 halves the image.
constexpr int kVggLayers[] = {64, 64,  0,   128, 128, 0,   256, 256, 256,
                              0,  512, 512, 512, 0,   512, 512, 512, 0};
// CIFAR-10's ten classes and TensorFlow's class 0.
constexpr std::int64_t kVggClasses = 11;

// VGG16 for 32x32 images. It has the 13 convolutions of Simonyan and Zisserman 2015, table 1,
// column D, one hidden layer of 512 units, and 11 classes. There is no batch normalisation and no
// dropout. The number of parameters is that of SIDCo's VGG16: 14,982,987. Weights are drawn as in
// He et al. 2015, biases are zero.
class Vgg16 : public TrainableModel {
 public:
  explicit Vgg16(double width) {
    auto features = register_module("features", std::make_shared<nn::Module>());
    std::int64_t in = 3;
    // Names as in a sequence in which activations and pooling have numbers too.
    int number = 0;
    for (const int layer : kVggLayers) {
      if (layer == 0) {
        steps_.emplace_back(nullptr);
        number += 1;
        continue;
      }
      const std::int64_t out = scaled(layer, width);
      steps_.push_back(features->register_module(
          std::to_string(number), nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1))));
      in = out;
      number += 2;
    }
    auto classifier = register_module("classifier", std::make_shared<nn::Module>());
    const std::int64_t hidden = scaled(512, width);
    hidden_ = classifier->register_module("0", nn::Linear(in, hidden));
    last_ = classifier->register_module("3", nn::Linear(hidden, kVggClasses));
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : parameters()) {
      if (parameter.dim() > 1) {
        nn::init::kaiming_normal_(parameter, 0, torch::kFanIn, torch::kReLU);
      } else {
        nn::init::zeros_(parameter);
      }
    }
  }

  torch::Tensor scores(const torch::Tensor& inputs, Carry& /*carry*/) override {
    torch::Tensor x = inputs;
    for (nn::Conv2d& conv : steps_)
      x = conv.is_empty() ? torch::max_pool2d(x, 2) : torch::relu(conv(x));
    return last_(torch::relu(hidden_(x.flatten(1))));
  }

 private:
  std::vector<nn::Conv2d> steps_;  ///< empty: pooling
  nn::Linear hidden_{nullptr};
  nn::Linear last_{nullptr};
};

}  // namespace

std::shared_ptr<TrainableModel> make_lenet5() { return std::make_shared<LeNet5>(); }

std::shared_ptr<TrainableModel> make_cifar_resnet(int blocks) {
  return std::make_shared<CifarResNet>(blocks);
}

std::shared_ptr<TrainableModel> make_vgg16(double width) { return std::make_shared<Vgg16>(width); }

}  // namespace thinpipe
