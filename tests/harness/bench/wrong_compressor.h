// A compressor that is right but for one thing.
#pragma once

#include <memory>
#include <string>

#include "compressors/compressor.h"

namespace thinpipe::testing {

/// What is wrong: "nothing", "count" (reports one element fewer than it sends), "private" (decodes
/// only what it encoded itself), "larger" (says that a payload is longer than it may be), "past"
/// (writes behind its payload), "nan" (decodes one), "target" (another payload for every
/// instruction set), "threads" (another payload on two threads), "error" (reports half of its
/// error), "throws" (after some steps). The registered method "test-wrong" has it as its parameter
/// `how`.
std::unique_ptr<Compressor> make_wrong_compressor(const std::string& how, const TensorInfo& tensor,
                                                  const CompressorSettings& settings);

}  // namespace thinpipe::testing
