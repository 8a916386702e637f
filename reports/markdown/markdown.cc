// The report as Markdown.
#include "reports/markdown/markdown.h"

#include "reports/markdown/parts.h"
#include "reports/summary/summary.h"
#include "reports/tables/table.h"
#include "reports/text/escape.h"
#include "reports/text/provenance.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {

std::string render_markdown(const Records& records) {
  const Summary summary = summarize(records);
  std::string text = "# thinpipe report\n\n" + escape_markdown(trace_line(records)) + "\n\n";
  text += "## What was found\n\n" + markdown::bullets(verdict(summary));
  for (const Group& group : summary.groups) {
    text += "## " + escape_markdown(group.title) + "\n\n";
    text += "Step time of none and speed-up over it (95 % intervals):\n\n" +
            markdown::table(overview_table(group));
    text += "All points:\n\n" + markdown::table(points_table(group));
    if (const Table predictions = predictions_table(group); !predictions.rows.empty())
      text += "Predicted and measured:\n\n" + markdown::table(predictions);
  }
  const Table links = calibration_table(records), problems = problems_table(records);
  if (!links.rows.empty())
    text += "## The links before they were used\n\n" + markdown::table(links);
  if (!problems.rows.empty())
    text += "## Invalid and failed points\n\n" + markdown::table(problems);
  if (!records.notes.empty())
    text += "## Notes on the records file\n\n" + markdown::bullets(records.notes);
  text += "## How it was computed\n\n" + markdown::bullets(method_notes());
  text += "## How to reproduce\n\n" + markdown::code_block(reproduce_commands(records));
  text += "## Where it was measured\n\n" + markdown::provenance(records);
  return text;
}

}  // namespace thinpipe
