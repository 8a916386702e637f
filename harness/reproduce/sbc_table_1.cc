// Sattler et al., Sparse Binary Compression, table I: rates of compression methods.
#include <fmt/format.h>

#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/sbc_formula.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

// Eq. 1: 32 bits of every element and step, over what the table's sparsities and bits leave.
double times_by_equation_1(double temporal, double share, double value_bits, double position_bits) {
  return 32 / (temporal * share * (value_bits + position_bits));
}

std::vector<std::string> replay(const std::string& elements) {
  return {"quality", "--trace", "synthetic:elements=" + elements + ",workers=1,steps=4",
          // A period of SBC (3).
          "--steps", "100", "-c", "none", "-c", "int8", "-c", "mqe1bit", "-c",
          "gradientdropping:ratio=0.001,positions=run16", "-c", "fedavg:delay=10|100", "-c", "sbc",
          "-c", "sbc:delay=10|100,p=0.01"};
}

}  // namespace

Recipe sbc_table_1() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "sbc-table1";
  plan.title = "compression rates, computed and encoded";
  plan.source =
      "Sattler et al., Sparse Binary Compression (2018), table I: theoretical rates from sparsity "
      "in time, sparsity of gradients, bits of a value and of a position (eqs. 1 and 5), for the "
      "baseline, quantisers, Gradient Dropping, Federated Averaging and SBC.";
  plan.here =
      "Payloads of 100 steps as they were encoded, of a random gradient, beside what equation 1 "
      "gives for the table's sparsities and bits.";
  plan.differences = {
      "The column of the paper is equation 1 with the table's parameters: each method is taken at "
      "one point of the ranges that the table gives.",
      "Scales, means and heads of payloads are in ours."};
  plan.columns = {columns::kept_times_smaller(), columns::kept_bits_per_element()};
  const auto row = [&](const char* label, const char* spec, double times) {
    plan.rows.push_back({.label = label,
                         .arm = "payloads",
                         .compressor = spec,
                         .paper = {format_times(times), ""}});
    plan.expectations.push_back({.says = fmt::format("{}: as computed", label),
                                 .arm = label,
                                 .least = 0.98 * times,
                                 .most = 1.02 * times,
                                 .bounded = Bounded::kValue});
  };
  row("baseline", "none", 1);
  row("8 bits", "int8", times_by_equation_1(1, 1, 8, 0));
  row("1 bit", "mqe1bit", times_by_equation_1(1, 1, 1, 0));
  row("Gradient Dropping, 0.1 %", "gradientdropping:ratio=0.001,positions=run16",
      times_by_equation_1(1, 0.001, 32, 16));
  row("Federated Averaging, n=10", "fedavg:delay=10", times_by_equation_1(0.1, 1, 32, 0));
  row("Federated Averaging, n=100", "fedavg:delay=100", times_by_equation_1(0.01, 1, 32, 0));
  row("SBC (1)", "sbc", times_by_equation_1(1, 0.001, 0, bits_by_equation_5(0.001)));
  row("SBC (2)", "sbc:delay=10,p=0.01",
      times_by_equation_1(0.1, 0.01, 0, bits_by_equation_5(0.01)));
  row("SBC (3)", "sbc:delay=100,p=0.01",
      times_by_equation_1(0.01, 0.01, 0, bits_by_equation_5(0.01)));
  recipe.arms = {{.label = "payloads", .full = replay("10m"), .quick = replay("1m")}};
  recipe.full_minutes = 3;
  recipe.quick_seconds = 15;
  return recipe;
}

}  // namespace thinpipe
