#include "harness/commands/records_option.h"

namespace thinpipe {

OptionInfo records_option() {
  return {
      .name = "out",
      .value_name = "DIR",
      .type = OptionInfo::Type::kFolder,
      .help = "append what was measured to DIR/records.jsonl (docs/records.md); made if need be"};
}

std::unique_ptr<RecordWriter> open_records(const Arguments& arguments) {
  if (!arguments.given("out")) return nullptr;
  return std::make_unique<RecordWriter>(arguments.text("out"), RecordWriter::Mode::kResume);
}

}  // namespace thinpipe
