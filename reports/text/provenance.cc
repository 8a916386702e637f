// Where the figures come from.
#include "reports/text/provenance.h"

#include <algorithm>

#include "reports/text/escape.h"

namespace thinpipe {
namespace {

std::string plain(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Deeper objects are written as JSON: a record is outside input and may nest without end.
constexpr int kDeepest = 4;

void flatten_into(const nlohmann::json& object, const std::string& prefix, int depth,
                  NamedValues& result) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix.empty() ? key : prefix + "." + key;
    if (value.is_object() && depth < kDeepest) {
      flatten_into(value, name, depth + 1, result);
    } else {
      result.emplace_back(name, plain(value));
    }
  }
}

}  // namespace

NamedValues flattened(const nlohmann::json& object) {
  NamedValues result;
  flatten_into(object, "", 0, result);
  return result;
}

NamedValues calibration_values(const Header& header) {
  nlohmann::json rest = header.calibration;
  rest.erase("links");
  return flattened(rest);
}

std::string trace_line(const Records& records) {
  if (records.headers.empty()) return "";
  const nlohmann::json& trace = records.headers.back().trace;
  const auto has = [&](const char* key) { return trace.contains(key) && !trace[key].is_null(); };
  std::string line;
  const auto add = [&](const std::string& text) { line += (line.empty() ? "" : ", ") + text; };
  if (has("model")) add(plain(trace["model"]));
  if (has("elements")) {
    add(plain(trace["elements"]) + " elements" +
        (has("tensors") ? " in " + plain(trace["tensors"]) + " tensors" : ""));
  }
  if (has("steps")) add(plain(trace["steps"]) + " steps");
  return line;
}

std::vector<std::string> reproduce_commands(const Records& records) {
  std::vector<std::string> commands;
  for (const Header& header : records.headers) {
    const std::string command = shell_quoted(header.command);
    if (!command.empty() &&
        std::find(commands.begin(), commands.end(), command) == commands.end()) {
      commands.push_back(command);
    }
  }
  const std::filesystem::path folder = records.file.parent_path();
  commands.push_back(shell_quoted({"thinpipe", "report", folder.empty() ? "." : folder.string()}));
  return commands;
}

std::vector<std::string> method_notes() {
  std::vector<std::string> notes;
  notes.emplace_back(
      "A step's time is that of its slowest rank. Step times are medians over all measured steps "
      "of all repeats; warm-up steps are not in the records.");
  notes.emplace_back(
      "Intervals are 95 % confidence intervals. One repeat: the exact order-statistic interval of "
      "the median. Several repeats: a percentile bootstrap of 2000 resamplings that draws repeats "
      "and then steps within them. Fewer than 6 samples give no interval.");
  notes.emplace_back(
      "Speed-up is the median step time of a baseline over that of the compressor at the same link "
      "rate and number of ranks. Baselines are none, which sends 32-bit floats as they are, and "
      "bf16, which sums them in 16 bits; a compressor pays where it is faster than the faster of "
      "both. Where one was run with several exchange patterns, the fastest of them counts.");
  notes.emplace_back(
      "The break-even rate is where ln(speed-up), taken as linear in ln(rate) between neighbouring "
      "measured rates, is zero. Its interval is where the ends of the speed-up's intervals cross. "
      "Nothing is extrapolated beyond the measured rates.");
  notes.emplace_back(
      "Relative error is the norm of decoded minus input over that of the input, of one step and "
      "one rank: what error feedback sends later is not subtracted, and it does not say how "
      "training ends.");
  notes.emplace_back(
      "Invalid points were measured but failed a check of link, clock or aggregate: they are "
      "shown, and decide nothing. Failed points have no figures.");
  return notes;
}

}  // namespace thinpipe
