// What was found, in a few plain sentences.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reports/record/record.h"
#include "reports/summary/summary.h"

namespace thinpipe {

/// For every group of comparable points (ranks and link beside the rate): which compressor wins at
/// each rate and by how much with its 95 % interval; where compression stops paying; what the first
/// winner gives up. Then one sentence on what cannot be trusted. One group gives three or four
/// sentences. Points that are not `ok` decide nothing. Plain text: not escaped for any markup.
std::vector<std::string> verdict(const Records& records);
std::vector<std::string> verdict(const Summary& summary);

/// The sentences of one group, without its title.
std::vector<std::string> group_verdict(const Group& group);

/// The single sentences, for reports that give each its own place.
/// Who wins where, and whether a winner sends far more or less than it is asked for (mean k^/k).
std::string winners_sentence(const Group& group);
std::string break_even_sentence(const Group& group);
std::string price_sentence(const Group& group);  ///< "" when nothing was measured to tell it
/// Whom steps waited for, and which link was slower than the others; "" where nobody and none.
std::string critical_path_sentence(const Group& group);
std::string trust_sentence(const Summary& summary);
/// How many links delivered what they were set to, and which did not; "" when nobody looked.
std::string calibration_sentence(const Summary& summary);

/// "pays at 10 Mbit/s; cannot be told at 1 Gbit/s: 1.02 times as fast (0.98 to 1.05)": by whether
/// the intervals of the speed-ups lie above 1, below, or hold it; "" where there are none.
std::string rates_told(const Series& series);

/// The break-even rate that models gave when it ran, by the link nearest to it; nothing where they
/// gave none.
std::optional<double> predicted_rate(const Series& series);

/// What models said when it ran, by the link nearest to it: "up to 290 Mbit/s", "at every rate",
/// "at no rate", "at high rates only"; "" where records have no prediction.
std::string predicted_break_even(const Series& series);

/// What else is known of a compressor's break-even rate, such as `limited by the codec`; "" for
/// nothing.
using BreakEvenNote = std::function<std::string(const Group&, const Series&)>;

/// For the end of a run: for each compressor of each group the link rate up to which it pays, with
/// its interval, or what can be said instead, and what was predicted; a line each, of at most
/// `columns` characters as long as what it states leaves 24 for the name.
std::vector<std::string> break_even_lines(const Summary& summary, std::size_t columns = 80,
                                          const BreakEvenNote& note = {});

/// Who is fastest at one rate.
struct Outcome {
  enum class Kind {
    kNothing,     ///< no trusted figure
    kNoBaseline,  ///< fastest by step time; there is no trusted `none` to compare with
    kWins,        ///< the whole interval of the best compressor's speed-up lies above 1
    kEven,        ///< the interval holds 1
    kLoses,       ///< the best compressor is slower than `none`
  };
  Kind kind = Kind::kNothing;
  double rate = 0;
  const Series* best = nullptr;  ///< the fastest compressor (not `none`)
  const Cell* cell = nullptr;
  std::vector<const Series*> ties;  ///< others whose speed-up interval overlaps the best one's
};

Outcome outcome_at(const Group& group, double rate);

}  // namespace thinpipe
