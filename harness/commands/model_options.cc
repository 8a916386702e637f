#include "harness/commands/model_options.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "harness/machine/fingerprint.h"
#include "harness/predict/network_model.h"

namespace thinpipe {
namespace {

constexpr const char* kMeasured = "measured";

}  // namespace

std::optional<double> given_message_time(const Arguments& arguments) {
  const std::string& text = arguments.text("message-time");
  return text == kMeasured ? std::nullopt : std::optional(parse_time(text));
}

std::vector<OptionInfo> machine_model_options() {
  return {
      text_option("message-time", "T", kMeasured,
                  "fixed time per message in addition to the link's delay, such as 20us; "
                  "`measured` measures it on this machine's loopback interface"),
      real_option("cores", "N", "0", {0, 1e6},
                  "number of cores that all ranks share, as emulated hosts do; 0 gives each rank a "
                  "machine of its own"),
  };
}

MachineModel::MachineModel(const Arguments& arguments) : cores_(arguments.real("cores")) {
  const auto given = given_message_time(arguments);
  message_time_ = given ? *given : loopback_message_time();
}

PredictedMachines MachineModel::of(int ranks) const {
  const double message_time = message_time_ * crowding(ranks, 1, cores_);
  return {.network = {.message_time = message_time, .slower = 1}, .cores = cores_};
}

std::string compute_origin(const Trace& trace, double compute_scale) {
  if (compute_scale == 0) return "disabled";
  const nlohmann::json provenance = trace.metadata().value("provenance", nlohmann::json::object());
  std::string where = "recorded in the trace";
  for (const char* key : {"device", "cpu"})
    if (const auto found = provenance.find(key);
        found != provenance.end() && found->is_string() && where == "recorded in the trace")
      where = found->get<std::string>();
  if (const auto source = provenance.find("times");
      source != provenance.end() && source->is_string())
    where += ", " + source->get<std::string>();
  return where + (compute_scale == 1 ? "" : fmt::format(", times {}", compute_scale));
}

std::string measured_origin(int threads) {
  const nlohmann::json machine = machine_description();
  return fmt::format("measured now on the trace's gradients, {} of {}",
                     threads == 1 ? "one core" : fmt::format("{} threads", threads),
                     machine.value("cpu", "this machine's CPU"));
}

}  // namespace thinpipe
