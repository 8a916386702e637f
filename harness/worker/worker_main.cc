// thinpipe-worker: one rank of a replayed job.
#include <memory>
#include <string>
#include <utility>

#include "harness/worker/worker.h"

int main(int argc, char** argv) {
  return thinpipe::worker_program(
      "thinpipe-worker", argc, argv, [](thinpipe::MessageSocket socket, std::string scratch) {
        return std::make_unique<thinpipe::Worker>(std::move(socket), std::move(scratch));
      });
}
