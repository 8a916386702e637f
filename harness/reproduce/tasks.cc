#include "harness/reproduce/training_recipes.h"

namespace thinpipe {
namespace {

// Quality does not depend on links: fast ones, and no waiting for compute times.
std::vector<std::string> four_workers(std::vector<std::string> model) {
  model.insert(model.begin(), {"-w", "4", "--link", "rate=1gbit", "--compute-time", "0"});
  model.insert(model.end(), {"--check-every", "100"});
  return model;
}

}  // namespace

std::vector<std::string> small_images() { return four_workers({"-m", "lenet5"}); }

std::vector<std::string> small_text() { return four_workers({"-m", "charlstm", "--clip", "1"}); }

}  // namespace thinpipe
