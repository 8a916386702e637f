#include "harness/reproduce/training_recipes.h"

namespace thinpipe {

// Quality does not depend on links: fast ones, and no waiting for compute times.
std::vector<std::string> small_images() {
  return {"-m", "lenet5",        "-w", "4", "--link", "rate=1gbit", "--compute-time",
          "0",  "--check-every", "100"};
}

std::vector<std::string> small_text() {
  return {"-m", "charlstm",      "-w", "4", "--link", "rate=1gbit", "--compute-time",
          "0",  "--check-every", "100"};
}

}  // namespace thinpipe
