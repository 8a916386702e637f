// Reads the records of `thinpipe trace stats`.
#include "reports/gradients/records.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/error.h"
#include "reports/record/parse.h"
#include "reports/record/reader.h"

namespace thinpipe {
namespace {

bool is_number_or_null(const nlohmann::json& value) { return value.is_number() || value.is_null(); }

double or_nan(const nlohmann::json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

double number_or_nan(const Fields& fields, const std::string& key) {
  return or_nan(fields.value(key, "a number or null", is_number_or_null));
}

std::vector<double> numbers(const Fields& fields, const std::string& key, std::size_t count) {
  std::vector<double> values = fields.numbers_or_nulls(key);
  if (values.size() != count) fields.complain(key, std::to_string(count) + " numbers");
  return values;
}

StatsPoints parse_points(const Fields& fields) {
  StatsPoints points;
  points.places = fields.numbers_or_nulls("places");
  points.magnitudes = numbers(fields, "magnitudes", points.places.size());
  points.errors = numbers(fields, "errors", points.places.size());
  points.x = fields.numbers_or_nulls("x");
  points.empirical = numbers(fields, "empirical", points.x.size());
  const Fields fitted = fields.object("fitted");
  for (std::size_t i = 0; i < kFitNames.size(); ++i)
    points.fitted[i] = numbers(fitted, kFitNames[i], points.x.size());
  return points;
}

/// Returns the second value of each pair; the first values are the ratios.
std::vector<double> parse_errors(const Fields& fields, std::size_t ratios) {
  const auto are_pairs = [&](const nlohmann::json& found) {
    return found.is_array() && found.size() == ratios &&
           std::all_of(found.begin(), found.end(), [](const nlohmann::json& pair) {
             return pair.is_array() && pair.size() == 2 && is_number_or_null(pair[1]);
           });
  };
  std::vector<double> errors;
  for (const nlohmann::json& pair : fields.value(
           "best_k_error", std::to_string(ratios) + " pairs of a ratio and an error", are_pairs))
    errors.push_back(or_nan(pair[1]));
  return errors;
}

StatsGradient parse_gradient(const Fields& fields, std::size_t ratios) {
  StatsGradient gradient;
  gradient.tensor = fields.text("tensor");
  gradient.step = fields.natural("training_step");
  gradient.rank = fields.natural("rank");
  gradient.feedback = fields.value("feedback", "true or false", &nlohmann::json::is_boolean);
  gradient.elements = fields.number_at_least("elements", 0);
  gradient.zeros = fields.number_at_least("zeros", 0);
  gradient.non_finite = fields.number_at_least("non_finite", 0);
  gradient.deviation = number_or_nan(fields, "deviation");
  gradient.kurtosis = number_or_nan(fields, "excess_kurtosis");
  gradient.l2 = number_or_nan(fields, "l2");
  gradient.mean_magnitude = number_or_nan(fields, "mean_magnitude");
  const Fields decay = fields.object("decay");
  gradient.p = number_or_nan(decay, "p");
  gradient.r_squared = number_or_nan(decay, "r_squared");
  gradient.best_k_errors = parse_errors(fields, ratios);
  const Fields fits = fields.object("fits");
  for (std::size_t i = 0; i < kFitNames.size(); ++i)
    gradient.distances[i] = number_or_nan(fits.object(kFitNames[i]), "distance");
  if (fields.has("curves")) gradient.points = parse_points(fields.object("curves"));
  return gradient;
}

StatsSimilarity parse_similarity(const Fields& fields) {
  StatsSimilarity similarity;
  similarity.tensor = fields.text("tensor");
  similarity.between_workers = fields.one_of("between", {"workers", "steps"}) == "workers";
  similarity.step = fields.natural("training_step");
  similarity.cosine = number_or_nan(fields, "cosine");
  similarity.overlap = number_or_nan(fields, "top_k_overlap");
  return similarity;
}

void parse_head(const nlohmann::json& json, const std::string& where, StatsRecords& records) {
  Fields(json, where).one_of("record", {"header"});
  records.origin.headers.push_back(std::get<Header>(parse_record(json, where)));
  const Fields fields = Fields(json, where).object("statistics");
  records.ratios = fields.numbers_or_nulls("ratios");
  const double feedback = number_or_nan(fields, "feedback_ratio");
  if (std::isfinite(feedback)) records.feedback_ratio = feedback;
  records.overlap_ratio = fields.positive_number("overlap_ratio");
}

}  // namespace

StatsRecords parse_trace_stats(InputLines lines, const std::filesystem::path& name) {
  StatsRecords records;
  records.origin.file = name;
  while (lines.next()) {
    const std::string where = name.string() + " line " + std::to_string(lines.number());
    const nlohmann::json json =
        nlohmann::json::parse(lines.line(), nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) throw InputError(where + ": not JSON");
    const Fields fields(json, where);
    if (lines.number() == 1) {
      parse_head(json, where, records);
    } else if (fields.one_of("record", {"gradient", "similarity"}) == "gradient") {
      records.gradients.push_back(parse_gradient(fields, records.ratios.size()));
    } else {
      records.similarities.push_back(parse_similarity(fields));
    }
  }
  return records;
}

std::optional<StatsRecords> find_trace_stats(const std::filesystem::path& folder_or_file) {
  std::error_code ignored;
  std::filesystem::path file = folder_or_file;
  if (std::filesystem::is_directory(file, ignored)) {
    if (std::filesystem::exists(file / kRecordFileName, ignored)) return std::nullopt;
    file /= kStatsFileName;
  }
  const auto head = first_record(file);
  if (!head || head->value("kind", nlohmann::json()) != kStatsKind) return std::nullopt;
  InputLines lines = open_record_lines(file);
  return parse_trace_stats(std::move(lines), file);
}

}  // namespace thinpipe
