// thinpipe-train-worker: one rank of a training job; or, with --describe OPTIONS or --order
// OPTIONS, what it would train and how long a step computes, or in which order gradients are ready.
#include <cstring>

#include "harness/train/train_worker.h"
#include "workloads/training/blas_kernels.h"

int main(int argc, char** argv) {
  thinpipe::start_with_fitting_blas(argv);
  for (const char* word : {"--describe", "--order"})
    if (argc == 3 && std::strcmp(argv[1], word) == 0)
      return thinpipe::describe_to_stdout(argv[2], std::strcmp(word, "--describe") == 0);
  return thinpipe::worker_program(
      "thinpipe-train-worker", argc, argv, [](thinpipe::MessageSocket socket, std::string scratch) {
        return std::make_unique<thinpipe::TrainWorker>(std::move(socket), std::move(scratch));
      });
}
