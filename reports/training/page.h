// Figures of trainings, and their report as a page or as Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/record/record.h"
#include "reports/training/summary.h"

namespace thinpipe {

/// Returns the curve of a training, averaged over its used seeds. Each evaluation in
/// `training.evaluations` gives a point: the mean over seeds of the array `x` (`steps`, `bytes` or
/// `seconds`), and the mean of the array `y`, which `format` gives in tooltips. With kMinForMean or
/// more seeds, the point has the 95 % interval of y's mean. A seed with fewer evaluations counts
/// only in the evaluations that it has.
std::vector<ChartPoint> evaluation_points(const TrainedGroup& group, const std::string& x,
                                          const std::string& y, std::string (*format)(double));

inline constexpr std::size_t kDrawnSteps = 100;

/// Returns the curve of payload bits per element by step, averaged over the seeds. Consecutive
/// steps are averaged too, so that at most kDrawnSteps points remain. A dense payload has 32 bits
/// per element.
std::vector<ChartPoint> bits_points(const TrainedGroup& group);

struct StyledGroup {
  const TrainedGroup* group;
  std::size_t style;  ///< 0 for `none`, else one per label
};

/// Comparable trainings: one link, one number of workers.
struct TrainingSection {
  std::string title;  ///< plain text
  std::vector<StyledGroup> groups;
};

std::vector<TrainingSection> training_sections(const TrainingSummary& summary);

/// Returns the figures that have data to draw: quality and loss on held-out data over steps, bytes
/// and seconds; time and bytes to the target; final quality over the seeds; time over final
/// held-out loss; and bits per element over steps, as figure 9 of the 3LC paper. `id` is the prefix
/// of the figures' ids. @throws RunError without gnuplot
std::vector<Figure> training_figures(const TrainingSummary& summary, const TrainingSection& section,
                                     const std::string& id);

/// Returns the report on trainings as one self-contained HTML page, which loads no other files. All
/// text from the records is escaped.
/// @throws InputError without a point, or for records of another kind; RunError without gnuplot
std::string render_training_html(const Records& records);

/// Returns the same as Markdown, without figures.
std::string render_training_markdown(const Records& records);

}  // namespace thinpipe
