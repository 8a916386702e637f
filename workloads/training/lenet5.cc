// LeNet-5 in the form of Caffe's examples/mnist/lenet_train_test.prototxt: 431,080 parameters.
#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "workloads/training/model.h"

namespace thinpipe {

namespace {

namespace nn = torch::nn;

class LeNet5 : public TrainableModel {
 public:
  LeNet5()
      : conv1_(register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 20, 5)))),
        conv2_(register_module("conv2", nn::Conv2d(nn::Conv2dOptions(20, 50, 5)))),
        ip1_(register_module("ip1", nn::Linear(800, 500))),
        ip2_(register_module("ip2", nn::Linear(500, 10))) {
    // Caffe's "xavier" filler and zero biases.
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

}  // namespace

std::shared_ptr<TrainableModel> make_lenet5() { return std::make_shared<LeNet5>(); }

}  // namespace thinpipe
