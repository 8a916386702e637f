// A paper's finding held against trainings of our own: figures, the rule, and a page that shows
// both.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "reports/record/record.h"
#include "reports/statistics/interval.h"

namespace thinpipe {

/// What a paper found, as a bound on the difference of two arms. Quality is held-out accuracy in
/// percentage points or, of text, -100 ln(perplexity): more is better, and a point is a hundredth.
struct Expectation {
  std::string says;       ///< the finding, for a person
  std::string arm, than;  ///< labels; the difference is the quality of `arm` less that of `than`
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

/// What one arm's trainings came to, a value a seed. Points that are `invalid` count: their times
/// are in doubt, not what was learned, which is checked step by step and would have failed.
struct ArmFigures {
  std::string label, paper;  ///< as the paper names it, and the paper's figure; "" for none
  std::string command;       ///< that trained it
  bool perplexity = false;
  std::vector<std::uint64_t> seeds;
  std::vector<double> quality;          ///< by seed, see Expectation
  std::vector<double> shown;            ///< by seed: accuracy in percent, or perplexity
  std::vector<double> bytes;            ///< by seed: of a worker and step, mean
  double dense_bytes = 0;               ///< of a worker and step without compression
  std::vector<std::string> complaints;  ///< points that do not count, and why
};

/// @param records  of `thinpipe train`, one compressor on one link, seeds from first to last
ArmFigures arm_figures(std::string label, std::string paper, std::string command,
                       const Records& records);

enum class Appeared {
  kYes,      ///< the interval lies within the bounds
  kNo,       ///< it lies outside
  kUnclear,  ///< it reaches across a bound
  kSeen,     ///< too few seeds for an interval: the mean lies within the bounds
  kNotSeen,  ///< likewise, outside
  kMissing,  ///< an arm has no figures
};

/// "yes", "no", "unclear", "looks so", "does not look so", "not measured".
const char* words_of(Appeared appeared);

struct JudgedFinding {
  Expectation expected;
  std::optional<Estimate> difference;  ///< mean over seeds that both arms have, and its interval
  Appeared appeared = Appeared::kMissing;
};

/// Seeds share initial parameters and order of data, so differences are taken seed by seed.
JudgedFinding judge(const Expectation& expected, const std::vector<ArmFigures>& arms);

struct Reproduction {
  std::string name, title, source, here;
  std::vector<ArmFigures> arms;
  std::vector<JudgedFinding> findings;
};

/// Markdown: what the paper did and what was done here, the paper's figures beside ours, the rule
/// and what came of it, the commands.
std::string reproduction_page(const Reproduction& reproduction);

/// The table and the findings, at most 80 columns wide.
std::string reproduction_text(const Reproduction& reproduction);

}  // namespace thinpipe
