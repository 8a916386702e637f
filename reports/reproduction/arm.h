// What one command of a reproduction left behind.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "reports/gradients/records.h"
#include "reports/record/record.h"

namespace thinpipe {

struct ArmRecords {
  std::string label;
  std::string command = {};  ///< to be run again, by a shell in the folder of all records
  Records records = {};      ///< of run, train, bench and quality; else empty
  std::optional<StatsRecords> stats = {};  ///< of trace stats
  nlohmann::json printed = {};             ///< of commands that print JSON for programs; else null
  std::string failure = {};                ///< why there is nothing, or not everything; "" for none
};

}  // namespace thinpipe
