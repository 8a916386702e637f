// Fuzz targets that give their bytes to one parser. Each is a function here; a target's program is
// compiled with THINPIPE_FUZZ_TARGET, the name of its function.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/key_values.h"
#include "compressors/registry.h"
#include "netem/link/link_spec.h"
#include "netem/link/qdisc.h"
#include "netem/link/shaping.h"
#include "netem/schedule/part.h"
#include "netem/schedule/schedule.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/specs.h"
#include "workloads/synthetic/synthetic.h"
#include "workloads/trace/safetensors.h"

namespace thinpipe::fuzz {
namespace {

// Arbitrary bytes as a payload of any compressor: they decode, or they are an InputError.
[[maybe_unused]] void fuzz_decode(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const Subject subject = take_subject(input);
  const auto compressor = make_compressor(parse_spec(subject.spec), subject.tensor, {});
  // A copy of exactly this size, so that a read before or after it is seen.
  const std::vector<std::byte> payload(input.rest().begin(), input.rest().end());
  std::vector<float> out(subject.tensor.elements);
  try {
    compressor->decode_add(payload, 0.5F, out);
  } catch (const InputError&) {  // PayloadError is one
  }
}

// Fuzzes compressor specs with arbitrary text. The text must parse, expand, pass the checks and
// make a compressor, or cause an InputError. An accepted spec must be the same after it is written
// and parsed again.
[[maybe_unused]] void fuzz_spec(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    // Alternatives multiply: a user may wish for more than these.
    if (std::count(text.begin(), text.end(), '|') <= 6) {
      for (const Spec& spec : expand_specs(text)) {
        require(parse_spec(spec.to_string()) == spec, "an expanded spec parses to itself");
      }
    }
    const Spec spec = parse_spec(text);
    require(parse_spec(spec.to_string()) == spec, "a spec parses to itself");
    const std::string normal = Parameters(find_method(spec.name).parameters, spec).text();
    const Spec again = parse_spec(normal);
    require(Parameters(find_method(again.name).parameters, again).text() == normal,
            "a normal form is its own");
    make_compressor(spec, {.name = "t", .shape = {4, 4}, .elements = 16}, {});
  } catch (const InputError&) {
  }
}

// Fuzzes the parser of key-value pairs with any text. The pairs must form the text again, in its
// order and with each key once, or the parser must throw an InputError.
[[maybe_unused]] void fuzz_key_values(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    KeyValues items("pairs", text, text);
    std::string again;
    std::set<std::string> keys;
    for (const auto& [key, value] : items.left()) {
      again += (again.empty() ? "" : ",") + key + "=" + value;
      require(keys.insert(key).second, "no key occurs twice");
    }
    require(again == text, "the pairs are the text");
    for (const std::string& key : keys) {
      const std::string value = items.take(key);
      require(!value.empty() && items.given(key) && !items.find(key), "each is taken once");
    }
    items.finish();
  } catch (const InputError&) {
  }
}

// Fuzzes the link parser with arbitrary text. If the text parses, its printed form must parse to
// the same link, and the link must convert to qdiscs. Otherwise the parser must throw an
// InputError.
[[maybe_unused]] void fuzz_link(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    // Alternatives multiply: a user may wish for more than these.
    if (std::count(text.begin(), text.end(), '|') > 6) return;
    for (const LinkSpec& link : expand_link_specs(text)) {
      const std::string canonical = link.to_string();
      require(parse_link_spec(canonical) == link, "its text is the same link");
      require(parse_link_spec(canonical).to_string() == canonical, "and is canonical");
      const LinkSpec filled = link.with_defaults();
      require(filled.up.rate == 0 || filled.up.queue >= link.frame_bytes(),
              "a frame fits into the queue");
      // Tables are files of the machine's, and making one takes longer than all else.
      if (link.up.impairment.jitter.count() == 0 && link.down.impairment.jitter.count() == 0)
        require(!shaping_of(link).port.empty(), "it has qdiscs");
    }
  } catch (const InputError&) {
  }
}

void check_schedule(const Schedule& schedule) {
  double t = 0, sum = 0;
  for (int i = 0; i < 50 && t < 100; ++i) {
    const double next = schedule.next_change(t, 0.05);
    require(next > t, "changes lie ahead");
    const double end = std::min(next, t + 1);
    const double rate = schedule.mean(t, end).rate;
    // Rounding is relative to the highest rate, and a difference of two long integrals.
    const double slack = 1e-6 * schedule.most_rate();
    // Corners of different kinds may lie a rounding error apart, which is too short for a mean.
    if (end - t > 1e-4)
      require(rate >= -slack && rate <= schedule.most_rate() + slack, "means are within");
    require(schedule.at(t).rate <= schedule.most_rate() + slack, "values are within");
    sum += schedule.bits(t, end);
    t = end;
  }
  require(std::fabs(sum - schedule.bits(0, t)) <= 1e-6 * (schedule.most_rate() * t + 1),
          "integrals add up");
}

// Fuzzes a schedule, a CSV table or a mahimahi trace with arbitrary text. The text must parse to a
// self-consistent function of time, or be refused with an InputError.
[[maybe_unused]] void fuzz_schedule(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const LinkState link = {100e6, 0.01, 0};
  try {
    if (data[0] == 'c') {
      for (const SchedulePart& part : parse_schedule_csv(text, "table", size % 2 == 0, kNever))
        check_schedule(ScheduleSpec({part}, std::nullopt, "", "").on(link));
    } else if (data[0] == 'm') {
      const CurvePtr curve = parse_mahimahi(text, "trace", 0.05);
      check_schedule({curve, curve, curve});
    } else {
      const ScheduleSpec spec = parse_schedule(text);
      if (!spec.empty())
        require(parse_schedule(spec.to_string()).to_string() == spec.to_string(),
                "its text is canonical");
      check_schedule(spec.on(link));
    }
  } catch (const InputError&) {
  }
}

// Fuzzes the reader of the kernel's qdisc descriptions with arbitrary bytes. The bytes must be read
// and compared, or cause a RunError.
[[maybe_unused]] void fuzz_qdisc(const std::uint8_t* data, std::size_t size) {
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
        require(!mismatch.setting.empty() && mismatch.asked != mismatch.got,
                "a mismatch says what differs");
    } catch (const RunError&) {
    }
  }
}

// Arbitrary bytes as a safetensors file: an InputError, or every tensor lies within them.
[[maybe_unused]] void fuzz_safetensors(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    std::size_t sum = 0;
    for (const auto& [name, entry] : parse_safetensors(file, "fuzz.safetensors")) {
      for (std::byte byte : entry.bytes) sum += static_cast<std::size_t>(byte);
      require(entry.bytes.size() < size, "a tensor is smaller than its file");
    }
    [[maybe_unused]] volatile std::size_t sink = sum;
  } catch (const InputError&) {
  }
}

constexpr std::size_t kMaxElements = 5000;
constexpr std::size_t kLatestStep = 3;  // those before it are drawn as well

void check_values(const SyntheticSpec& spec) {
  const Trace trace = make_synthetic(spec);
  require(trace.generated() && trace.elements() == spec.elements, "as many elements");
  const std::size_t step = std::min(spec.steps - 1, kLatestStep);
  const auto values = trace.gradient(spec.workers - 1, step, 0);
  require(values.size() == spec.elements, "as many values");
  for (const float value : values) require(std::isfinite(value), "finite values");
}

// Fuzzes the text after `synthetic:`. If the text parses, its canonical text must give the same
// gradients, and the gradients of a small trace must be finite numbers. Otherwise the parser must
// throw an InputError.
[[maybe_unused]] void fuzz_synthetic(const std::uint8_t* data, std::size_t size) {
  const std::string text = "synthetic:" + std::string(reinterpret_cast<const char*>(data), size);
  try {
    const SyntheticSpec spec = parse_synthetic_spec(text);
    const std::string canonical = spec.to_string();
    require(parse_synthetic_spec(canonical).to_string() == canonical, "it is canonical");
    // A fit would read folders of the machine.
    if (spec.is_fit() || spec.elements == 0 || spec.elements > kMaxElements) return;
    check_values(spec);
  } catch (const InputError&) {
  }
}

}  // namespace
}  // namespace thinpipe::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  thinpipe::fuzz::THINPIPE_FUZZ_TARGET(data, size);
  return 0;
}
