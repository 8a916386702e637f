// `--out DIR` of verbs whose records may be kept.
#pragma once

#include <memory>

#include "harness/options/arguments.h"
#include "harness/options/option.h"
#include "reports/record/writer.h"

namespace thinpipe {

OptionInfo records_option();

/// Ready to append a launch to DIR/records.jsonl; null when it was not asked for.
/// @throws InputError when there are records of another kind, SystemError.
std::unique_ptr<RecordWriter> open_records(const Arguments& arguments);

}  // namespace thinpipe
