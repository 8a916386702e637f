#include "workloads/synthetic/spec.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "workloads/models/catalogue.h"

namespace thinpipe {
namespace {

constexpr std::string_view kPrefix = "synthetic:";
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40;

/// The items of a spec, taken one by one; what is left at the end was not known.
class Items {
 public:
  explicit Items(std::string_view text) : text_(text) {
    text.remove_prefix(kPrefix.size());
    for (const std::string& item : split(text, ',')) {
      const std::size_t equals = item.find('=');
      if (equals == std::string::npos || equals == 0 || equals + 1 == item.size()) {
        fail(fmt::format("{} is not key=value", in_quotes(item)));
      }
      if (!values_.emplace(item.substr(0, equals), item.substr(equals + 1)).second) {
        fail(in_quotes(item.substr(0, equals)) + " is given twice");
      }
    }
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw InputError(fmt::format("{}: {}", in_quotes(text_), problem));
  }

  std::string take(const std::string& key, const std::string& otherwise) {
    known_.push_back(key);
    const auto found = values_.find(key);
    if (found == values_.end()) return otherwise;
    const std::string value = found->second;
    values_.erase(found);
    return value;
  }

  double number(const std::string& key, double otherwise, const std::string& expected,
                const std::function<bool(double)>& allowed) {
    const std::string value = take(key, "");
    if (value.empty()) return otherwise;
    const auto number = parse_number<double>(value);
    if (!number || !allowed(*number)) {
      fail(fmt::format("{}={}: expected {}", key, excerpt(value), expected));
    }
    return *number;
  }

  /// A whole number, which may end in k, m or g.
  std::uint64_t count(const std::string& key, std::uint64_t otherwise, std::uint64_t least,
                      std::uint64_t most, bool suffix = false) {
    std::string value = take(key, "");
    if (value.empty()) return otherwise;
    std::uint64_t factor = 1;
    const std::string shown = value;
    constexpr std::string_view kSuffixes = "kmg";
    if (suffix && kSuffixes.find(value.back()) != std::string_view::npos) {
      for (std::size_t i = 0; i <= kSuffixes.find(value.back()); ++i) factor *= 1000;
      value.pop_back();
    }
    const auto number = parse_number<std::uint64_t>(value, 0, most / factor);
    if (!number || *number * factor < least) {
      fail(fmt::format("{}={}: expected a whole number from {} to {}", key, excerpt(shown), least,
                       most));
    }
    return *number * factor;
  }

  void refuse_the_rest() const {
    if (values_.empty()) return;
    const std::string& key = values_.begin()->first;
    fail(fmt::format("{} is no key of this distribution{}; it has {}", in_quotes(key),
                     did_you_mean(key, known_), fmt::join(known_, ", ")));
  }

 private:
  std::string text_;
  std::map<std::string, std::string> values_;
  std::vector<std::string> known_;
};

bool takes_shape(const std::string& distribution) {
  return distribution == "gamma" || distribution == "gpareto";
}

std::string parse_distribution(Items& items) {
  std::vector<std::string> names = family_names();
  names.push_back("fit");
  const std::string name = items.take("dist", "laplace");
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    items.fail(fmt::format("dist={}: expected one of {}{}", name, fmt::join(names, ", "),
                           did_you_mean(name, names)));
  }
  return name;
}

void parse_family(Items& items, SyntheticSpec& spec) {
  const std::string& name = spec.distribution;
  spec.scale = items.number("scale", spec.scale, "a number from 1e-10 to 1e10",
                            // The heaviest tails reach 7e19 at 2^-33, and floats 3e38.
                            [](double v) { return v >= 1e-10 && v <= 1e10; });
  if (name == "gamma") {
    spec.family.shape = items.number("shape", 0.5, "a number from 0.1 to 20",
                                     [](double v) { return v >= 0.1 && v <= 20; });
  }
  if (name == "gpareto") {
    spec.family.shape = items.number("shape", 0.2, "a number from 0 to 2",
                                     [](double v) { return v >= 0 && v <= 2; });
  }
  if (name == "student") {
    spec.family.dof = items.number("dof", 3, "a number from 0.5 to 1000",
                                   [](double v) { return v >= 0.5 && v <= 1000; });
  }
  spec.family.zeros =
      items.number("zeros", name == "bernoulli-gaussian" ? 0.9 : 0,
                   "a share of at least 0 and below 1", [](double v) { return v >= 0 && v < 1; });
}

double parse_correlation(Items& items, const std::string& key) {
  return items.number(key, 0, "a correlation from 0 to 0.999",
                      [](double v) { return v >= 0 && v <= 0.999; });
}

void check_together(const Items& items, const SyntheticSpec& spec) {
  if (!spec.model.empty() && spec.elements > 0) items.fail("model and elements exclude each other");
  if (spec.is_fit()) {
    if (spec.trace.empty())
      items.fail("dist=fit needs trace=FOLDER, a captured trace to draw like");
  } else if (spec.model.empty() && spec.elements == 0) {
    items.fail("expected model=NAME (see `thinpipe list models`) or elements=N");
  }
  if (!spec.model.empty()) find_model(spec.model);
  const bool finite =
      make_family(spec.is_fit() ? "laplace" : spec.distribution, spec.family).finite_variance;
  if (spec.correlated() && !finite) {
    items.fail(
        "a correlation needs a finite variance: gpareto of a shape below 0.5, student of a dof "
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
  Items items(text);
  SyntheticSpec spec;
  spec.model = items.take("model", "");
  spec.elements = items.count("elements", 0, 1, kMostElements, true);
  spec.distribution = parse_distribution(items);
  if (spec.is_fit()) {
    spec.trace = items.take("trace", "");
    if (!spec.trace.empty()) spec.trace = std::filesystem::absolute(spec.trace).string();
  } else {
    parse_family(items, spec);
  }
  spec.workers = items.count("workers", spec.workers, 1, 65'536);
  spec.steps = items.count("steps", spec.steps, 1, 1'000'000);
  spec.rho_step = parse_correlation(items, "rho_step");
  spec.rho_worker = parse_correlation(items, "rho_worker");
  spec.seed = items.count("seed", spec.seed, 0, UINT64_MAX);
  items.refuse_the_rest();
  check_together(items, spec);
  return spec;
}

}  // namespace thinpipe
