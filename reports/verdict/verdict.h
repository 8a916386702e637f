// The findings of a run, in sentences.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reports/record/record.h"
#include "reports/summary/summary.h"

namespace thinpipe {

/// Returns the findings of every group of comparable points (equal ranks, and links that differ in
/// their rate only), then the warnings. The findings name the fastest compressor at each rate, with
/// its speed-up, 95 % interval, payload and error. They also name the fastest compressor at equal
/// error, and the break-even rates. Only `ok` points count. The sentences are plain text, not
/// escaped for any markup.
std::vector<std::string> verdict(const Records& records);
std::vector<std::string> verdict(const Summary& summary);

/// Returns the sentences of one group, without its title.
std::vector<std::string> group_verdict(const Group& group);

// The parts of a group's verdict, for reports that place each one themselves.

/// Returns sentences that name the fastest compressor at each rate. The first sentence about a
/// compressor adds its payload and relative error. It also adds k^/k (sent over requested elements)
/// if that lies outside SIDCo's tolerance.
std::string winners_sentence(const Group& group);
/// Returns the sentences of winners_sentence() on one rate, without payload and errors.
std::string outcome_sentence(const Group& group, double rate);
/// Returns a sentence that names the fastest compressor among those with a relative error of at
/// most 1 %, 10 %, 50 % and 90 %. It names a compressor only if that is significantly faster than
/// the faster baseline; otherwise it names the baseline. "" where no errors are known.
std::string equal_error_sentence(const Group& group);
/// Returns the rates at which each compressor is faster than the baseline, measured and predicted.
std::string break_even_sentence(const Group& group);
/// Returns the hosts that steps waited for and the link that paced exchanges; "" without either.
std::string critical_path_sentence(const Group& group);
/// Returns the warnings, or that all points passed their checks, and the links' calibration.
std::string trust_sentence(const Summary& summary);
/// Returns "6.8× over bf16 (95 % CI 6.5 to 7.1) and 13× over fp32 (12 to 14)": the speed-ups over
/// the baselines that were measured; "" without any.
std::string times_told(const Cell& cell);

/// Returns a text such as "faster at 10 Mbit/s; indistinguishable at 1 Gbit/s: 1.02× over bf16
/// (0.98 to 1.05)". A rate is "faster" if the interval of the speed-up over the faster baseline
/// lies above 1, and "indistinguishable" if the interval contains 1. Otherwise the rate is "not
/// faster". "" without any speed-up.
std::string rates_told(const Series& series);

/// Returns "below 310 Mbit/s", "at every rate", "never", "above 1 Gbit/s" or "unclear"; "" where
/// nothing was measured.
std::string break_even_text(const BreakEven& even);
/// Returns the same over `none` alone where `bf16` was measured too and the texts differ; else "".
std::string over_none_text(const Group& group, const Series& series);

/// Returns "no trusted figure at 1 Gbit/s", the rates without a trusted speed-up; "" for none.
std::string untrusted_rates(const Group& group, const Series& series);

/// Returns an end of a break-even rate's interval as text; "open" without one.
std::string rate_or_open(const std::optional<double>& rate);

/// Returns the predicted break-even rate in bit/s. The points on each link have a prediction of
/// their own; the one whose link rate is nearest to its prediction counts. Returns nothing if the
/// records have no prediction.
std::optional<double> predicted_rate(const Series& series);

/// Returns the predicted_rate() as text, "below 290 Mbit/s". If no break-even rate is predicted,
/// returns "at every rate", "never" or "at high rates only". Returns "" if the records have no
/// prediction.
std::string predicted_break_even(const Series& series);

/// Returns a note on a compressor's break-even rate, such as `limited by the codec`; "" for none.
using BreakEvenNote = std::function<std::string(const Group&, const Series&)>;

/// Returns the lines that a run prints at its end. Each compressor of each group has a line: the
/// rates at which it is faster than the baseline, the interval of the break-even rate, and the
/// prediction. A long name is cut to fit the line into `columns` characters, but to no fewer than
/// 24 characters. A second line follows if the rates in comparison with `none` alone differ.
std::vector<std::string> break_even_lines(const Summary& summary, std::size_t columns = 80,
                                          const BreakEvenNote& note = {});

/// The fastest compressor at one rate.
struct Outcome {
  enum class Kind {
    kNothing,     ///< no trusted figure
    kNoBaseline,  ///< fastest by step time, without a trusted baseline to compare with
    kWins,        ///< the interval of its speed-up over the faster baseline lies above 1
    kEven,        ///< the interval holds 1
    kLoses,       ///< the baseline is faster
  };
  Kind kind = Kind::kNothing;
  double rate = 0;
  const Series* best = nullptr;  ///< the fastest compressor; never a baseline
  const Cell* cell = nullptr;
  /// Compressors whose step time over that of the best has an interval that contains 1.
  std::vector<const Series*> ties;
};

Outcome outcome_at(const Group& group, double rate);

/// The critical paths of one point, from its record. Times are fractions of the steps' time.
struct PathFinding {
  double waited = 0;    ///< in exchanges, for one phase of one host; 0 below kToldWait
  std::string whom;     ///< "host 3's compute"
  double exchange = 0;  ///< exchanging, all ranks having arrived
  std::string link;     ///< the link that was busy for clearly longer than the others; "" for none

  std::string sender;  ///< the host with clearly longer payloads, "host 2"; "" for none
  double times = 0;    ///< its payload over the others' median
};

/// @param record  the `critical_path` of docs/records.md; members of another shape are ignored
PathFinding path_finding(const nlohmann::json& record);

/// Returns for each host in the record how long the other ranks (their median) waited in exchanges
/// for this host to arrive. The waits are fractions of the steps' time, summed over all phases of
/// the host that caused them.
std::map<int, double> waited_by_host(const nlohmann::json& record);

/// Returns a phrase to follow a step time: "62 % of it waiting for host 3's compute, exchanges
/// paced by host 2's link, host 1's payload 3.2 times the others'". Returns "" without a finding.
std::string path_phrase(const PathFinding& finding);

}  // namespace thinpipe
