// One thing the doctor looked at: what was found, what it costs, what to do.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

struct Finding {
  enum class State {
    kGood,
    kNote,    ///< works, but figures may suffer
    kAbsent,  ///< an optional part is missing
    kFatal,   ///< `thinpipe run` cannot work
  };
  std::string group = {};  ///< "kernel", "programs" or "machine"
  std::string name = {};   ///< at most 12 columns
  State state = State::kGood;
  std::string found = {};
  std::string cost = {};    ///< what it costs the user; "" when good
  std::string remedy = {};  ///< what to do about it; "" when nothing can be done or need be
};

const char* to_string(Finding::State state);

/// True when nothing is fatal.
bool can_run(const std::vector<Finding>& findings);

/// A table for people, grouped, at most 80 columns wide.
std::string to_text(const std::vector<Finding>& findings);

/// {"can_run": true, "findings": [{"group": ...}]}
std::string to_json(const std::vector<Finding>& findings);

}  // namespace thinpipe
