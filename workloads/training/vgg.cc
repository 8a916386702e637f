// VGG16 for 32x32 images: the 13 convolutions of Simonyan and Zisserman 2015, table 1, column D,
// one hidden layer of 512 and 11 classes, without batch normalisation: SIDCo's 14,982,987
// parameters. Dropout is left out. Weights are drawn as in He et al. 2015, biases are zero.
#include <string>
#include <vector>

#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "workloads/training/model.h"

namespace thinpipe {

namespace {

namespace nn = torch::nn;

// Channels of the convolutions; 0 halves the image.
constexpr int kVggLayers[] = {64, 64,  0,   128, 128, 0,   256, 256, 256,
                              0,  512, 512, 512, 0,   512, 512, 512, 0};
// The class more than CIFAR-10 has is TensorFlow's class 0.
constexpr std::int64_t kVggClasses = 11;

class Vgg16 : public TrainableModel {
 public:
  explicit Vgg16(double width) {
    auto features = register_module("features", std::make_shared<nn::Module>());
    std::int64_t in = 3;
    // The names of a sequence in which activations and pooling have numbers too.
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
    for (nn::Conv2d& conv : steps_) {
      x = conv.is_empty() ? torch::max_pool2d(x, 2) : torch::relu(conv(x));
    }
    return last_(torch::relu(hidden_(x.flatten(1))));
  }

 private:
  std::vector<nn::Conv2d> steps_;  ///< empty: pooling
  nn::Linear hidden_{nullptr};
  nn::Linear last_{nullptr};
};

}  // namespace

std::shared_ptr<TrainableModel> make_vgg16(double width) { return std::make_shared<Vgg16>(width); }

}  // namespace thinpipe
