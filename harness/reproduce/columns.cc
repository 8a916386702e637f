#include "harness/reproduce/columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/units.h"
#include "compressors/encode/position_codec.h"
#include "compressors/registry.h"
#include "compressors/spec.h"

namespace thinpipe {
namespace {

double fraction_of(const std::string& compressor) {
  const auto fraction = parse_number<double>(spec_value(compressor, "p", ""), 0, 1);
  if (!fraction) throw InputError(in_quotes(compressor) + " has no fraction p");
  return *fraction;
}

// Returns the column with the bits of an SBC payload divided by the number of sent elements. The
// bits include one mean and a header for each tensor.
ReproductionColumn bits_per_position(const std::string& positions) {
  return {"bits a position", format_plain,
          [positions](const ArmRecords& arm, const std::string& compressor) {
            Spec spec = parse_spec(compressor);
            spec.values["positions"] = positions;
            MeasuredCell cell =
                columns::kept_bits_per_element().measure(arm, spelt_out(spec.to_string()));
            for (Repetition& one : cell.repetitions) one.value /= fraction_of(compressor);
            return cell;
          }};
}

// SBC, eq. 5: mean bits of a Golomb-coded distance if a fraction p of the elements is sent.
double bits_by_equation_5(double p) { return golomb_mean_bits(p, golomb_bits(p)); }

ReproductionColumn computed(const char* name, double (*formula)(double)) {
  return {name, format_plain, [formula](const ArmRecords&, const std::string& compressor) {
            MeasuredCell cell;
            cell.exact = true;
            cell.repetitions = {{0, formula(fraction_of(compressor))}};
            return cell;
          }};
}

std::string of(const JsonField& field) { return field.at("of").string(); }
double rate(const JsonField& field) { return read_rate(field.at("rate")); }

ReproductionColumn bits_during(const JsonField& field, bool pulled) {
  const auto fraction = [&](const char* key, double otherwise) {
    return field.has(key) ? field.at(key).number(0, 1) : otherwise;
  };
  return columns::bits_during(pulled, fraction("from", 0), fraction("to", 1));
}

// Makes a column of one of the networks that were predicted.
template <ReproductionColumn (*column)(double rate, int ranks)>
ReproductionColumn of_network(const JsonField& field) {
  constexpr std::uint64_t kMaxRanks = 1 << 20;
  return column(rate(field), static_cast<int>(field.at("ranks").unsigned_integer(1, kMaxRanks)));
}

ReproductionColumn fit_distance(const JsonField& field) {
  const auto fit = std::find(kFitNames.begin(), kFitNames.end(), of(field));
  if (fit == kFitNames.end())
    field.at("of").fail("expected exponential, gamma, gpareto or normal, found " + of(field));
  return columns::fit_distance(static_cast<std::size_t>(fit - kFitNames.begin()));
}

ReproductionColumn best_k_error(const JsonField& field) {
  const auto ratio = parse_number<double>(of(field), 0, 1);
  if (!ratio) field.at("of").fail("expected a ratio such as '0.01', found " + of(field));
  return columns::best_k_error(*ratio);
}

ReproductionColumn paying_cells(const JsonField& field) {
  const auto choice = [&](const char* key, std::initializer_list<const char*> choices) {
    const std::string found = field.at(key).string();
    if (std::find(choices.begin(), choices.end(), found) == choices.end())
      field.at(key).fail(
          fmt::format("expected {}, found {}", fmt::join(choices, " or "), in_quotes(found)));
    return found;
  };
  return columns::paying_cells({.over = choice("over", {"none", "bf16", "both"}),
                                .memory_bound = choice("codec", {"timed", "memory"}) == "memory",
                                .rate = field.has("rate") ? rate(field) : 0});
}

struct ColumnKind {
  std::string_view name;
  std::vector<std::string> parameters;
  ReproductionColumn (*make)(const JsonField& field);
};

// Makes a column without parameters.
template <ReproductionColumn (*make)()>
ReproductionColumn plain(const JsonField&) {
  return make();
}

const ColumnKind kColumnKinds[] = {
    // From trainings.
    {"accuracy", {}, plain<columns::accuracy>},
    {"perplexity", {}, plain<columns::perplexity>},
    {"bytes", {}, plain<columns::bytes>},
    {"times_smaller", {}, plain<columns::times_smaller>},
    {"server_times_smaller", {}, plain<columns::server_times_smaller>},
    {"server_bits_per_element", {}, plain<columns::server_bits>},
    {"bits_pushed",
     {"from", "to"},
     [](const JsonField& field) { return bits_during(field, false); }},
    {"bits_pulled",
     {"from", "to"},
     [](const JsonField& field) { return bits_during(field, true); }},
    {"training_time", {}, plain<columns::training_seconds>},
    {"time_to_target", {}, plain<columns::target_seconds>},
    {"sooner_at_target", {}, plain<columns::sooner_at_target>},
    // From replays.
    {"speed_up", {"rate"}, [](const JsonField& field) { return columns::speed_up(rate(field)); }},
    {"exchange_speed_up",
     {"rate"},
     [](const JsonField& field) { return columns::exchange_speed_up(rate(field)); }},
    // From `bench`.
    {"encode_time", {}, plain<columns::encode_time>},
    {"encode_speed_up",
     {"of"},
     [](const JsonField& field) { return columns::encode_speed_up(of(field)); }},
    // From `quality`.
    {"estimation_quality", {}, plain<columns::estimation_quality>},
    {"estimation_error", {}, plain<columns::estimation_error>},
    {"payload_times_smaller", {}, plain<columns::kept_times_smaller>},
    {"payload_bits_per_element", {}, plain<columns::kept_bits_per_element>},
    {"bits_per_position",
     {"of"},
     [](const JsonField& field) { return bits_per_position(of(field)); }},
    // Computed from the row's compressor.
    {"equation_5", {}, [](const JsonField&) { return computed("eq. 5", bits_by_equation_5); }},
    {"position_entropy",
     {},
     [](const JsonField&) { return computed("entropy", position_entropy_bits); }},
    // From `trace stats`.
    {"fit_distance", {"of"}, fit_distance},
    {"decay_exponent", {}, plain<columns::decay_exponent>},
    {"best_k_error", {"of"}, best_k_error},
    // From `predict`.
    {"predicted_scaling", {"ranks", "rate"}, of_network<columns::predicted_scaling>},
    {"predicted_speed_up", {"ranks", "rate"}, of_network<columns::predicted_speed_up>},
    {"paying_cells", {"over", "codec", "rate"}, paying_cells},
};

}  // namespace

double read_rate(const JsonField& field) {
  try {
    return parse_rate(field.string());
  } catch (const InputError& error) {
    field.fail(error.what());
  }
}

ReproductionColumn read_column(const JsonField& field) {
  const bool is_name = field.value().is_string();
  const ColumnKind& kind = shown(kColumnKinds, is_name ? field : field.at("show"));
  if (is_name) return kind.make(field);
  std::vector<std::string> known{"each", "show", "name", "arm"};
  known.insert(known.end(), kind.parameters.begin(), kind.parameters.end());
  field.allow_only(known);
  ReproductionColumn column = kind.make(field);
  if (field.has("name")) column.name = field.at("name").string();
  if (field.has("arm")) column.arm = field.at("arm").string();
  return column;
}

std::string spelt_out(const std::string& compressor) {
  try {
    return parameters_of(parse_spec(compressor)).text();
  } catch (const InputError&) {  // rules by tensors' names, or a plug-in's method
    return compressor;
  }
}

std::string spec_value(const std::string& spec, const std::string& key, const std::string& before) {
  try {
    const Spec parsed = parse_spec(spec);
    const auto found = parsed.values.find(key);
    return found == parsed.values.end() ? "" : before + found->second;
  } catch (const InputError&) {
    return "";
  }
}

}  // namespace thinpipe
