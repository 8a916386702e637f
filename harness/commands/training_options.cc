#include "harness/commands/training_options.h"

#include "workloads/models/catalogue.h"

namespace thinpipe {

using Type = OptionInfo::Type;

OptionInfo model_option() {
  return {.name = "model",
          .letter = 'm',
          .value_name = "NAME",
          .type = Type::kChoice,
          .help = "model to train",
          .choices = trainable_models(),
          .required = true};
}

OptionInfo batch_option() {
  return {.name = "batch",
          .value_name = "N",
          .type = Type::kInteger,
          .help = "examples in a worker's mini-batch; by default the model's",
          .minimum = 1,
          .maximum = 65536};
}

OptionInfo data_option() {
  return {.name = "data",
          .value_name = "PATH",
          .type = Type::kFile,
          .help =
              "MNIST or CIFAR-10 (binary) folder, or plain text; by default drawn digits and "
              "images, and a text that comes with thinpipe"};
}

}  // namespace thinpipe
