#include "workloads/synthetic/spec.h"

#include <filesystem>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/key_values.h"
#include "base/text.h"
#include "workloads/models/catalogue.h"

namespace thinpipe {
namespace {

constexpr std::string_view kPrefix = "synthetic:";
constexpr std::uint64_t kMaxSpecElements = std::uint64_t{1} << 40;

// Returns the value of `key`, a whole number from `least` to `most`. The number's text may end in
// k, m or g (10^3, 10^6, 10^9). Returns `otherwise` if the key is absent.
std::uint64_t take_elements(KeyValues& items, const std::string& key, std::uint64_t otherwise,
                            std::uint64_t least, std::uint64_t most) {
  const std::optional<std::string> given = items.find(key);
  if (!given) return otherwise;
  std::string digits = *given;
  std::uint64_t factor = 1;
  if (const std::size_t suffix = std::string_view("kmg").find(digits.back());
      suffix != std::string_view::npos) {
    for (std::size_t i = 0; i <= suffix; ++i) factor *= 1000;
    digits.pop_back();
  }
  const auto number = parse_number<std::uint64_t>(digits, 0, most / factor);
  if (!number || *number * factor < least)
    items.fail_value(key, *given,
                     fmt::format("expected a whole number from {} to {}", least, most));
  return *number * factor;
}

bool takes_shape(const std::string& distribution) {
  return distribution == "gamma" || distribution == "gpareto";
}

std::string parse_distribution(KeyValues& items) {
  std::vector<std::string> names = family_names();  // the first, laplace, is the default
  names.push_back("fit");
  return names[items.choice("dist", names)];
}

void parse_family(KeyValues& items, SyntheticSpec& spec) {
  const std::string& name = spec.distribution;
  // The heaviest tails reach 7e19 at 2^-33, and floats 3e38.
  spec.scale = items.number("scale", spec.scale, 1e-10, 1e10);
  if (name == "gamma") spec.family.shape = items.number("shape", 0.5, 0.1, 20);
  if (name == "gpareto") spec.family.shape = items.number("shape", 0.2, 0, 2);
  if (name == "student") spec.family.dof = items.number("dof", 3, 0.5, 1000);
  spec.family.zeros = items.number("zeros", name == "bernoulli-gaussian" ? 0.9 : 0, 0, 1);
  if (spec.family.zeros == 1) items.fail("zeros=1: expected a fraction below 1");
}

void check_together(const KeyValues& items, const SyntheticSpec& spec) {
  if (!spec.model.empty() && spec.elements > 0) items.fail("model and elements exclude each other");
  if (spec.is_fit()) {
    if (spec.trace.empty()) items.fail("dist=fit needs trace=FOLDER, the captured trace to fit");
  } else if (spec.model.empty() && spec.elements == 0) {
    items.fail("expected model=NAME (see `thinpipe list models`) or elements=N");
  }
  if (!spec.model.empty()) find_model(spec.model);
  const bool finite =
      make_family(spec.is_fit() ? "laplace" : spec.distribution, spec.family).finite_variance;
  if (spec.correlated() && !finite) {
    items.fail(
        "a correlation needs a finite variance: gpareto with shape below 0.5, student with dof "
        "above 2");
  }
}

}  // namespace

bool is_synthetic(std::string_view text) { return text.starts_with(kPrefix); }

std::string SyntheticSpec::text(const std::string& in_place_of_trace) const {
  std::string text(kPrefix);
  const auto add = [&](const char* key, const auto& value) {
    text += fmt::format("{}{}={}", text.size() == kPrefix.size() ? "" : ",", key, value);
  };
  if (!model.empty()) add("model", model);
  if (elements > 0) add("elements", elements);
  add("dist", distribution);
  if (is_fit()) {
    add("trace", in_place_of_trace);
  } else {
    if (takes_shape(distribution)) add("shape", family.shape);
    if (distribution == "student") add("dof", family.dof);
    if (family.zeros > 0 || distribution == "bernoulli-gaussian") add("zeros", family.zeros);
    add("scale", scale);
  }
  add("workers", workers);
  add("steps", steps);
  add("rho_step", rho_step);
  add("rho_worker", rho_worker);
  add("seed", seed);
  return text;
}

SyntheticSpec parse_synthetic_spec(std::string_view text) {
  constexpr double kMaxCorrelation = 0.999;
  KeyValues items = KeyValues::after_name("trace", text);
  SyntheticSpec spec;
  spec.model = items.find("model").value_or("");
  spec.elements = take_elements(items, "elements", 0, 1, kMaxSpecElements);
  spec.distribution = parse_distribution(items);
  if (spec.is_fit()) {
    spec.trace = items.find("trace").value_or("");
    if (!spec.trace.empty()) spec.trace = std::filesystem::absolute(spec.trace).string();
  } else {
    parse_family(items, spec);
  }
  spec.workers = items.number<std::uint64_t>("workers", spec.workers, 1, 65'536);
  spec.steps = items.number<std::uint64_t>("steps", spec.steps, 1, 1'000'000);
  spec.rho_step = items.number("rho_step", 0, 0, kMaxCorrelation);
  spec.rho_worker = items.number("rho_worker", 0, 0, kMaxCorrelation);
  spec.seed = items.number<std::uint64_t>("seed", spec.seed, 0, UINT64_MAX);
  items.finish();
  check_together(items, spec);
  return spec;
}

}  // namespace thinpipe
