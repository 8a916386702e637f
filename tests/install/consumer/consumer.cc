// Calls the examples with which the installed headers begin.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "compressors/registry.h"
#include "netem/link/link_spec.h"
#include "reports/record/record.h"
#include "workloads/trace/trace.h"

std::string canonical(const std::string& specs);
std::unique_ptr<thinpipe::Compressor> make_top_k(std::int64_t elements);
std::vector<float> send(thinpipe::Compressor& sender, const std::vector<float>& gradient);
double sum_of_gradients(const std::string& folder);
void copy_records(const thinpipe::Records& records, const std::string& folder);
void print_points(const std::string& folder);
int name_the_scratch_folder();

int main(int, char** argv) {
  using namespace thinpipe;
  if (canonical("topk:ratio=0.1|0.01") != "topk:ratio=0.1\ntopk:ratio=0.01\n") return 1;
  // 0.25 of 8 elements are two: the largest by magnitude are 3 and -4.
  if (send(*make_top_k(8), {0, 3, 0, 0, -4, 0, 1, 0}) !=
      std::vector<float>{0, 3, 0, 0, -4, 0, 0, 0})
    return 2;
  if (parse_link_spec("rate=100mbit").rate() != 100e6) return 3;
  try {
    sum_of_gradients("there is no such folder");
    return 4;
  } catch (const InputError&) {
  }
  const std::string folder = std::string(argv[0]) + "_records";
  copy_records({}, folder);
  print_points(folder);
  try {
    if (name_the_scratch_folder() != 0) return 5;
  } catch (const RunError& error) {  // where a user may have no namespaces
    std::printf("%s\n", error.what());
  }
  std::printf("the examples run\n");
  return 0;
}
