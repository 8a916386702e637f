// The figures of trainings.
#pragma once

#include <string>
#include <vector>

#include "reports/figures/figures.h"
#include "reports/training/summary.h"

namespace thinpipe {

/// Trainings that can be compared: one link, one number of workers.
struct TrainingSection {
  std::string title;  ///< plain text
  std::vector<const TrainedGroup*> groups;
  /// Of the group at that place: `none` has the style 0, others one by their label.
  std::vector<std::size_t> styles;
};

std::vector<TrainingSection> training_sections(const TrainingSummary& summary);

/// Quality and loss on held-out data against steps, bytes and seconds; time and bytes to the
/// target; final quality over the seeds; time against loss; bits over steps (3LC, fig. 9). Those
/// for which there are points. `id` goes before the figures' own ids. @throws RunError without
/// gnuplot
std::vector<Figure> training_figures(const TrainingSummary& summary, const TrainingSection& section,
                                     const std::string& id);

}  // namespace thinpipe
