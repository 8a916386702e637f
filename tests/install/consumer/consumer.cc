// Compresses a gradient with the installed libraries and decodes it again.
#include <cstdio>
#include <string>
#include <vector>

#include "compressors/registry.h"
#include "netem/link/link_spec.h"
#include "reports/record/record.h"
#include "workloads/trace/trace.h"

int main() {
  using namespace thinpipe;
  const std::vector<float> gradient{0, 3, 0, 0, -4, 0, 1, 0};
  const TensorInfo tensor{.name = "w", .shape = {8}, .elements = 8};
  const auto compressor = make_compressor(parse_spec("topk:ratio=0.25"), tensor, {});
  std::vector<std::byte> payload(compressor->max_encoded_size());
  const EncodeReport report = compressor->encode({.values = gradient}, payload);
  std::vector<float> decoded(8);
  compressor->decode_add(std::span(payload).first(report.encoded_bytes), 1, decoded);
  // 0.25 of 8 elements are two: the largest by magnitude are 3 and -4.
  if (decoded != std::vector<float>{0, 3, 0, 0, -4, 0, 0, 0}) return 1;
  if (std::string(status_name(Status::kInvalid)) != "invalid") return 4;
  if (parse_link_spec("rate=100mbit").rate() != 100e6) return 2;
  try {
    const Trace missing("there is no such folder");
    return 3;
  } catch (const InputError&) {
  }
  std::printf("topk kept %zu of 8\n", report.selected_elements);
  return 0;
}
