// Fuzzes the reader of the kernel's qdisc descriptions with arbitrary bytes. The bytes must be read
// and compared, or cause a RunError.
#include "netem/link/qdisc.h"
#include "base/error.h"
#include "netem/link/qdisc_netem.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  NetemSettings netem;
  netem.impairment.bursts = GilbertElliott{1, 10, 100, 0};
  netem.seed = 1;
  const QdiscRequest requests[] = {
      tbf_request({.rate = 12500000, .burst = 12500, .limit = 625000}), htb_request(),
      htb_class_request({.rate = 12500000, .burst = 12500, .quantum = 15140}), netem_request(netem),
      fifo_request(1000)};
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const QdiscRequest& request : requests) {
    try {
      for (const Mismatch& mismatch : request.mismatches(bytes))
        fuzz::require(!mismatch.setting.empty() && mismatch.asked != mismatch.got,
                      "a mismatch says what differs");
    } catch (const RunError&) {
    }
  }
  return 0;
}
