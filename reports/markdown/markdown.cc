// The report as Markdown.
#include "reports/markdown/markdown.h"

#include <algorithm>

#include "reports/markdown/parts.h"
#include "reports/summary/summary.h"
#include "reports/tables/table.h"
#include "reports/text/escape.h"
#include "reports/text/provenance.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {

std::string render_markdown(const Records& records, const Records* trained) {
  const Summary summary = summarize(records);
  const bool has_titles = summary.groups.size() > 1;
  std::string text = "# thinpipe report\n\n" + escape_markdown(trace_line(records)) + "\n\n";
  text += "## What was found\n\n";
  for (const Group& group : summary.groups) {
    if (has_titles) text += "### " + escape_markdown(group.title) + "\n\n";
    text += markdown::bullets(group_verdict(group)) + kOverviewNote + "\n\n" +
            markdown::table(overview_table(group));
  }
  text += "## What can be believed\n\n" + markdown::bullets({trust_sentence(summary)});
  const Table links = calibration_table(records), problems = problems_table(records);
  if (!problems.rows.empty())
    text += "### Invalid and failed points\n\n" + markdown::table(problems);
  if (!records.notes.empty())
    text += "### Notes on the records file\n\n" + markdown::bullets(records.notes);
  if (!links.rows.empty())
    text += "### The links before they were used\n\n" + markdown::table(links);
  if (trained != nullptr)
    text += "## Speed against loss\n\n" + markdown::table(losses_table(summary, *trained));
  text += "## All points\n\n" + markdown::table(points_table(summary));
  for (const Group& group : summary.groups)
    if (const Table predictions = predictions_table(group); !predictions.rows.empty())
      text += "## Predicted and measured" +
              (has_titles ? ", " + escape_markdown(group.title) : std::string()) + "\n\n" +
              markdown::table(predictions);
  text += "## How it was computed\n\n" + markdown::bullets(method_notes());
  text += "## How to reproduce\n\n" + markdown::code_block(reproduce_commands(records));
  std::vector<std::string> again = again_commands(summary);
  std::erase(again, "");
  if (!again.empty())
    text += "One point at a time, in the order of the table:\n\n" + markdown::code_block(again);
  text += "## Where it was measured\n\n" + markdown::provenance(records);
  return text;
}

}  // namespace thinpipe
