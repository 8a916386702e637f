// Mini-batches of text, of characters or of words.
#pragma once

#include <memory>

#include "workloads/data/text_corpus.h"
#include "workloads/training/batch.h"

namespace thinpipe {

/// The text is cut into one piece for each worker, and each piece into `batch` streams that are
/// read `time` symbols a step, side by side, from the start again when they end.
/// @throws InputError when the text is too short for one step.
std::unique_ptr<BatchSource> make_text_batches(TextCorpus corpus, std::size_t workers,
                                               std::size_t batch, std::size_t time);

/// The whole text once, as ten streams side by side, or more, up to forty, where these are twenty
/// steps long; less than a step of each is left out.
/// @throws InputError when the text is too short for one step.
std::unique_ptr<HeldOutBatches> make_held_out_text(TextCorpus corpus, std::size_t time);

}  // namespace thinpipe
