// Sattler et al., Sparse Binary Compression, eq. 5: bits of a position.
#include <fmt/format.h>

#include "compressors/encode/entropy.h"
#include "compressors/spec.h"

#include "harness/reproduce/arm.h"
#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/pictures.h"
#include "harness/reproduce/sbc_formula.h"

namespace thinpipe {
namespace {

constexpr double kShares[] = {0.1, 0.05, 0.01, 0.005, 0.001};

double share_of(const std::string& compressor) {
  return std::stod(spec_value(compressor, "p", ""));
}

// Bits of the payload over elements sent: one mean and a head for each tensor weigh nothing here.
ReproductionColumn bits_a_position(const char* name, const char* positions) {
  return {name, format_plain, [positions](const ArmRecords& arm, const std::string& compressor) {
            Spec spec = parse_spec(compressor);
            spec.values["positions"] = positions;
            MeasuredCell cell =
                columns::kept_bits_per_element().measure(arm, spelt_out(spec.to_string()));
            for (Repetition& one : cell.repetitions) one.value /= share_of(compressor);
            return cell;
          }};
}

ReproductionColumn computed(const char* name, double (*formula)(double)) {
  return {name, format_plain, [formula](const ArmRecords&, const std::string& compressor) {
            MeasuredCell cell;
            cell.exact = true;
            cell.repetitions = {{0, formula(share_of(compressor))}};
            return cell;
          }};
}

std::vector<std::string> quality_of(const std::string& elements, const char* positions) {
  return {"quality", "--trace", "synthetic:elements=" + elements + ",workers=1,steps=1", "-c",
          std::string("sbc:memory=none,p=0.1|0.05|0.01|0.005|0.001,positions=") + positions};
}

}  // namespace

Recipe sbc_equation_5() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "sbc-eq5";
  plan.title = "bits that SBC's positions take";
  plan.source =
      "Sattler et al., Sparse Binary Compression (2018), eq. 5: Golomb-coded distances of a share "
      "p of random positions take 8.38 bits each at p = 0.01, 1.9 times less than 16 fixed bits.";
  plan.here =
      "Payloads of SBC for a random gradient: bits for each position sent, Golomb-coded and as 16 "
      "fixed bits, beside the equation and beside the entropy, below which no code comes.";
  plan.differences = {
      "At p = 0.01 the equation as printed gives 8.11 bits (b* = 6); the paper's 8.38 is its value "
      "at b* = 7.",
      "A payload has one 32-bit mean and a head for the tensor besides; with as many elements as "
      "here they weigh less than 0.01 bits a position.",
      "Distances in fixed bits: one longer than 65,535 is split."};
  plan.columns = {columns::of_arm("Golomb", bits_a_position("Golomb", "golomb")),
                  columns::of_arm("16 fixed bits", bits_a_position("16 fixed bits", "run16")),
                  computed("eq. 5", bits_by_equation_5),
                  computed("entropy", position_entropy_bits)};
  for (const double share : kShares)
    plan.rows.push_back({.label = fmt::format("p={:g}", share),
                         .arm = "Golomb",
                         .compressor = fmt::format("sbc:memory=none,p={:g}", share),
                         .paper = {share == 0.01 ? "8.38" : "", share == 0.01 ? "16" : ""}});
  const auto as_computed = [](const char* row) {
    return Expectation{.says = std::string("payloads take what the equation says, ") + row,
                       .arm = row,
                       .than = row,
                       .least = 0.99,
                       .most = 1.01,
                       .bounded = Bounded::kRatio,
                       .column = "Golomb",
                       .than_column = "eq. 5"};
  };
  plan.expectations = {
      as_computed("p=0.1"),
      as_computed("p=0.01"),
      as_computed("p=0.001"),
      {.says = "8.38 bits a position at p = 0.01, or fewer",
       .arm = "p=0.01",
       .most = 8.39,
       .bounded = Bounded::kValue},
      {.says = "1.9 times less than 16 fixed bits",
       .arm = "p=0.01",
       .than = "p=0.01",
       .least = 1.85,
       .bounded = Bounded::kRatio,
       .column = "16 fixed bits",
       .than_column = "Golomb"},
      {.says = "hardly more than the least there can be",
       .arm = "p=0.01",
       .than = "p=0.01",
       .most = 1.03,
       .bounded = Bounded::kRatio,
       .column = "Golomb",
       .than_column = "entropy"},
  };
  recipe.arms = {
      {.label = "Golomb", .full = quality_of("20m", "golomb"), .quick = quality_of("2m", "golomb")},
      {.label = "16 fixed bits",
       .full = quality_of("20m", "run16"),
       .quick = quality_of("2m", "run16")}};
  recipe.full_minutes = 1;
  recipe.quick_seconds = 3;
  return recipe;
}

}  // namespace thinpipe
