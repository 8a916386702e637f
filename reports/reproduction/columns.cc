// Columns in general, and those of predictions.
#include "reports/reproduction/columns.h"

#include <fmt/format.h>

#include "reports/reproduction/pick.h"
#include "reports/text/units.h"

namespace thinpipe {

std::string format_percentage(double value) { return fmt::format("{:.2f} %", value); }
std::string format_times(double value) { return format_number(value) + "x"; }
std::string format_plain(double value) { return format_number(value); }

namespace columns {
namespace {

// Of the one point asked for; 0 is no figure.
MeasuredCell predicted(const ArmRecords& arm, const std::string& compressor, double rate, int ranks,
                       const std::function<double(const nlohmann::json&)>& value) {
  MeasuredCell cell;
  if (!arm.printed.is_object()) return cell;
  for (const auto& point : arm.printed.value("points", nlohmann::json::array())) {
    const auto& axes = point.at("axes");
    if (axes.at("compressor") != compressor || axes.at("rate") != rate || axes.at("ranks") != ranks)
      continue;
    if (point.contains("refusal"))
      cell.complaints.push_back(point.at("refusal").get<std::string>());
    else if (const double one = value(point); one > 0)
      cell.repetitions.push_back({0, one});
  }
  return cell;
}

}  // namespace

ReproductionColumn of_arm(std::string arm, ReproductionColumn column) {
  column.arm = std::move(arm);
  return column;
}

ReproductionColumn named(std::string name, ReproductionColumn column) {
  column.name = std::move(name);
  return column;
}

ReproductionColumn predicted_speed_up(double rate, int ranks) {
  return {fmt::format("{} at {}", ranks, format_rate(rate)), format_times,
          [=](const ArmRecords& arm, const std::string& compressor) {
            return predicted(arm, compressor, rate, ranks, [](const nlohmann::json& point) {
              const auto found = point.find("over_none");
              return found != point.end() && found->is_number() ? found->get<double>() : 0;
            });
          }};
}

ReproductionColumn predicted_scaling(double rate, int ranks) {
  return {fmt::format("{} at {}", ranks, format_rate(rate)), format_times,
          [=](const ArmRecords& arm, const std::string& compressor) {
            return predicted(arm, compressor, rate, ranks, [ranks](const nlohmann::json& point) {
              const auto& prediction = point.at("prediction");
              return ranks * prediction.at("compute_time").get<double>() /
                     prediction.at("step_time").get<double>();
            });
          }};
}

}  // namespace columns
}  // namespace thinpipe
