// What a step takes against the loss that trainings with the same compressor ended with.
#include "reports/figures/build.h"
#include "reports/figures/dots.h"
#include "reports/text/units.h"
#include "reports/training/like.h"

namespace thinpipe {
Figure loss_figure(const Group& group, const std::string& id, const TrainingSummary& trained) {
  Figure figure{id + "-loss", "Step time against loss, " + group.title, "", {}, {}};
  figure.caption =
      "Loss on held-out data at the end of trainings with the same compressor, mean over the seeds "
      "with its 95 % interval, against the median step time of the run; lower left is better. What "
      "lies above and right of the dashed line is both slower and worse than some other "
      "compressor.";
  std::vector<Curve> drawn;
  for (const double rate : figures::panel_rates(group)) {
    DotChart dots;
    dots.id = figure.id + "-" + std::to_string(figure.panels.size());
    dots.alt =
        "Final loss of trainings against step time at " + format_rate(rate) + ", " + group.title;
    dots.width = figures::kPanelWidth;
    dots.x = {"step time", true, format_time, {}, {}};
    dots.y = {"final loss", false, format_number, {}, {}};
    dots.has_front = true;
    for (const Series& series : group.series) {
      const Cell* cell = series.at(rate);
      const TrainedGroup* like = trained_like(trained, series, group.ranks);
      if (cell == nullptr || !cell->step_time || like == nullptr) continue;
      const Estimate loss = *like->mean("final_loss");
      dots.dots.push_back(
          {.name = series.label,
           .style = series.style,
           .x = cell->step_time->value,
           .y = loss.value,
           .x_interval = cell->step_time->interval,
           .y_interval = loss.interval,
           .is_trusted = cell->status == Status::kOk && like->trusted(),
           .tooltip = figures::cell_title(series, *cell) + "\n" +
                      format_time(cell->step_time->value) + " a step\nfinal loss " +
                      format_number(loss.value) + " (" + format_interval(loss, format_number) +
                      "), " + std::to_string(like->count("final_loss")) + " trainings with " +
                      std::to_string(like->ranks) + " workers"});
    }
    const Chart chart = dots_chart(dots);
    figures::add_panel(figure, format_rate(rate), chart);
    drawn.insert(drawn.end(), chart.curves.begin(), chart.curves.end());
  }
  figure.legend = figures::series_legend(group, drawn);
  return figure;
}

}  // namespace thinpipe
