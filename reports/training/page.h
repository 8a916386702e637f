// Figures of trainings, and their report as a page or as Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/record/record.h"
#include "reports/training/summary.h"

namespace thinpipe {

/// Returns the curve of a training, a mean over its used seeds: for each evaluation in
/// `training.evaluations` the mean of the array `y` times `factor` against the mean of `x`
/// (`steps`, `bytes` or `seconds`), with the 95 % interval of y's mean from kMinForMean seeds on. A
/// seed with fewer evaluations counts in those that it has.
std::vector<ChartPoint> evaluation_points(const TrainedGroup& group, const std::string& x,
                                          const std::string& y, double factor);

inline constexpr std::size_t kDrawnSteps = 100;

/// Returns payload bits per element by step, a mean over seeds and over as many steps as leave at
/// most kDrawnSteps points. A dense payload has 32 bits per element.
std::vector<ChartPoint> bits_points(const TrainedGroup& group);

/// Comparable trainings: one link, one number of workers.
struct TrainingSection {
  std::string title;  ///< plain text
  std::vector<const TrainedGroup*> groups;
  /// Style of the group at that index: 0 for `none`, else one per label.
  std::vector<std::size_t> styles;
};

std::vector<TrainingSection> training_sections(const TrainingSummary& summary);

/// Returns the figures that have data to draw: quality and loss on held-out data over steps, bytes
/// and seconds; time and bytes to the target; final quality over the seeds; time over final
/// held-out loss; and bits per element over steps, as figure 9 of the 3LC paper. `id` is the prefix
/// of the figures' ids. @throws RunError without gnuplot
std::vector<Figure> training_figures(const TrainingSummary& summary, const TrainingSection& section,
                                     const std::string& id);

/// Returns one page that loads nothing; everything from the records is escaped.
/// @throws InputError without a point, or for records of another kind; RunError without gnuplot
std::string render_training_html(const Records& records);

/// Returns the same as Markdown, without figures.
std::string render_training_markdown(const Records& records);

}  // namespace thinpipe
