// What trainings ended with beside what steps took.
#include "base/error.h"
#include "reports/tables/table.h"
#include "reports/text/units.h"
#include "reports/training/like.h"

namespace thinpipe {

Table losses_table(const Summary& summary, const Records& training) {
  const TrainingSummary trained = summarize_training(training);
  Table table{
      {"compressor", "ranks", "link rate", "step time", "final loss", "trainings", "workers there"},
      1,
      {}};
  for (const Group& group : summary.groups)
    for (const Series& series : group.series) {
      const TrainedGroup* like = trained_like(trained, series, group.ranks);
      if (like == nullptr) continue;
      const Estimate loss = *like->mean("final_loss");
      const std::size_t count = like->count("final_loss");
      for (const Cell& cell : series.cells) {
        if (!cell.step_time) continue;
        std::vector<TableCell> row = {
            {series.label, "", std::nullopt, series.style},
            {std::to_string(group.ranks), "", static_cast<double>(group.ranks)},
            {format_rate(cell.rate), "", cell.rate},
            {format_time(cell.step_time->value), format_interval(*cell.step_time, format_time),
             cell.step_time->value},
            {format_number(loss.value), format_interval(loss, format_number), loss.value},
            {std::to_string(count), "", static_cast<double>(count)},
            {std::to_string(like->ranks), "", static_cast<double>(like->ranks)}};
        for (TableCell& entry : row)
          entry.is_doubtful = cell.status != Status::kOk || !like->trusted();
        table.rows.push_back(std::move(row));
      }
    }
  if (table.rows.empty())
    throw InputError(training.file.string() +
                     ": no finished training with a compressor of the run; train with the same -c");
  return table;
}

}  // namespace thinpipe
