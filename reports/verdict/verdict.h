// Findings, in a few plain sentences.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reports/record/record.h"
#include "reports/summary/summary.h"

namespace thinpipe {

/// For every group of comparable points (ranks and link beside the rate): which compressor wins at
/// each rate, by how much with its 95 % interval, and what it sends and loses; which is fastest at
/// equal error; where compression stops paying. Then one sentence on what cannot be trusted. Points
/// that are not `ok` decide nothing. Plain text: not escaped for any markup.
std::vector<std::string> verdict(const Records& records);
std::vector<std::string> verdict(const Summary& summary);

/// The sentences of one group, without its title.
std::vector<std::string> group_verdict(const Group& group);

/// The single sentences, for reports that give each its own place.
/// The winner at each rate, and what each winner sends, loses, and selects of what it is asked for
/// (k^/k).
std::string winners_sentence(const Group& group);
/// Which is fastest among those whose decoded gradient is off by at most 1 %, 10 %, 50 % and 90 %
/// of the input's norm: a baseline where no compressor surely beats it. "" where no errors are
/// known.
std::string equal_error_sentence(const Group& group);
std::string break_even_sentence(const Group& group);
/// The hosts that steps waited for, and the link slower than the others; "" without either.
std::string critical_path_sentence(const Group& group);
std::string trust_sentence(const Summary& summary);
/// "6.8 times as fast as bf16 (6.5 to 7.1) and 13 times as fast as none (12 to 14)": over the
/// baselines that were measured; "" without any.
std::string times_told(const Cell& cell);

/// "pays at 10 Mbit/s; cannot be told at 1 Gbit/s: 1.02 times as fast as bf16 (0.98 to 1.05)": by
/// whether the intervals of the speed-ups over the faster baseline lie above 1, below, or hold it;
/// "" where there are none.
std::string rates_told(const Series& series);

/// "up to 310 Mbit/s", "at every rate", "at no rate", "above 1 Gbit/s", "cannot be told"; "" where
/// nothing was measured.
std::string break_even_text(const BreakEven& even);
/// The same over `none` alone where bf16 was measured, too, and it says something else; else "".
std::string over_none_text(const Group& group, const Series& series);

/// The break-even rate that models gave when it ran, by the link nearest to it; nothing where they
/// gave none.
std::optional<double> predicted_rate(const Series& series);

/// The models' prediction when it ran, by the link nearest to it: "up to 290 Mbit/s", "at every
/// rate", "at no rate", "at high rates only"; "" where records have no prediction.
std::string predicted_break_even(const Series& series);

/// A note on a compressor's break-even rate, such as `limited by the codec`; "" for none.
using BreakEvenNote = std::function<std::string(const Group&, const Series&)>;

/// For the end of a run: for each compressor of each group the link rate up to which it pays, with
/// its interval, or what can be said instead, and what was predicted; a line each, of at most
/// `columns` characters as long as what it states leaves 24 for the name; and a second one where it
/// pays up to another rate over `none` alone.
std::vector<std::string> break_even_lines(const Summary& summary, std::size_t columns = 80,
                                          const BreakEvenNote& note = {});

/// The fastest at one rate.
struct Outcome {
  enum class Kind {
    kNothing,     ///< no trusted figure
    kNoBaseline,  ///< fastest by step time; there is no trusted baseline to compare with
    kWins,        ///< the whole interval of the best one's speed-up over both baselines is above 1
    kEven,        ///< the interval holds 1
    kLoses,       ///< the best compressor is slower than a baseline
  };
  Kind kind = Kind::kNothing;
  double rate = 0;
  const Series* best = nullptr;  ///< the fastest compressor (no baseline)
  const Cell* cell = nullptr;
  std::vector<const Series*> ties;  ///< others whose speed-up interval overlaps the best one's
};

Outcome outcome_at(const Group& group, double rate);

/// The critical paths of one point, from its record. Shares are of its steps' time.
struct PathFinding {
  double waited =
      0;             ///< in exchanges, for one host's one phase; 0 where that is too little to tell
  std::string whom;  ///< "host 3's compute"
  double exchange = 0;  ///< with all ranks there
  std::string link;     ///< that was busy for clearly longer than the others meanwhile; "" for none

  std::string sender;  ///< "host 2", of clearly longer payloads than the others; "" for none
  double times = 0;    ///< as long as theirs

  bool none() const { return waited == 0 && link.empty() && sender.empty(); }
};

/// @param record  the `critical_path` of docs/records.md; what is not of its shape says nothing
PathFinding path_finding(const nlohmann::json& record);

/// How long the median other rank stood in exchanges until a host came, as a share of the steps'
/// time, all phases of that host together; of hosts that the record names.
std::map<int, double> waited_by_host(const nlohmann::json& record);

/// "62 % of it waiting for host 3's compute, exchanges at the pace of host 2's link, host 1's
/// payload 3.2 times the others'"; "" for none.
std::string path_phrase(const PathFinding& finding);

}  // namespace thinpipe
