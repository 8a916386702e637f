// Trainings drawn, and told as a page or as Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/record/record.h"
#include "reports/training/summary.h"

namespace thinpipe {

/// The curve of a training, a mean over its seeds: `training.evaluations` of the used seeds,
/// evaluation by evaluation: the means of the arrays `y` over those of `x` (`steps`, `bytes` or
/// `seconds`), with the 95 % interval of y's mean where there are seeds enough. Seeds that
/// evaluated another number of times count as far as they go.
std::vector<ChartPoint> evaluation_points(const TrainedGroup& group, const std::string& x,
                                          const std::string& y, double factor);

inline constexpr std::size_t kDrawnSteps = 100;

/// Payload bits an element by step, a mean over seeds and over so many steps that at most
/// kDrawnSteps points are left; the dense payload's 32 bits are where nothing is compressed.
std::vector<ChartPoint> bits_points(const TrainedGroup& group);

/// Trainings that can be compared: one link, one number of workers.
struct TrainingSection {
  std::string title;  ///< plain text
  std::vector<const TrainedGroup*> groups;
  /// Style of the group at that place: `none` has the style 0, others one by their label.
  std::vector<std::size_t> styles;
};

std::vector<TrainingSection> training_sections(const TrainingSummary& summary);

/// Quality and loss on held-out data against steps, bytes and seconds; time and bytes to the
/// target; final quality over the seeds; time against loss; bits over steps (3LC, fig. 9). Those
/// for which there are points. `id` goes before the figures' own ids. @throws RunError without
/// gnuplot
std::vector<Figure> training_figures(const TrainingSummary& summary, const TrainingSection& section,
                                     const std::string& id);

/// One page that loads nothing; everything from the records is escaped.
/// @throws InputError without a point, or for records of another kind; RunError without gnuplot
std::string render_training_html(const Records& records);

/// The same without figures.
std::string render_training_markdown(const Records& records);

}  // namespace thinpipe
