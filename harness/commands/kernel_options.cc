#include "harness/commands/kernel_options.h"

#include "compressors/simd.h"

namespace thinpipe {

OptionInfo threads_option(const std::string& who) {
  return {.name = "threads",
          .letter = 't',
          .value_name = "N",
          .type = OptionInfo::Type::kInteger,
          .default_value = "1",
          .help = "threads that " + who + " may use; tensors under 2^20 elements use one",
          .minimum = 1,
          .maximum = kMostThreads};
}

int threads_of(const Arguments& arguments) {
  return static_cast<int>(arguments.integer("threads"));
}

OptionInfo simd_option() {
  return {
      .name = "simd",
      .value_name = "NAME",
      .type = OptionInfo::Type::kText,
      .default_value = "best",
      .help =
          "instruction set of the kernels: avx3, avx2, sse4, neon, emu128 ... where the CPU has it",
      .suggestions = {"best"}};
}

std::string use_simd(const Arguments& arguments) {
  set_simd_target(arguments.text("simd"));
  return simd_target();
}

}  // namespace thinpipe
