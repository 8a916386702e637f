// Text as a sequence of 98 symbols, for the character models, and as words; and the text that is
// held out of training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace thinpipe {

/// Symbols: 0..94 are the printable ASCII characters from space to '~', 95 is a line's end, 96 a
/// tabulator, 97 everything else. SBC's corpus has 98 different characters (sec. IV-A).
inline constexpr std::size_t kTextSymbols = 98;

/// As many words as the PTB corpus of the papers' word models has.
inline constexpr std::size_t kVocabulary = 10'000;

struct TextCorpus {
  std::vector<std::uint16_t> symbols;  ///< each below kTextSymbols; of words, below kVocabulary
  std::string source;                  ///< for trace.json
};

/// UTF-8: one symbol a code point (a sequence beyond ASCII counts as one); "\r\n" is one line's
/// end.
std::vector<std::uint16_t> to_symbols(std::string_view text);

/// A file, or every *.txt of a folder in the order of their names.
/// @throws InputError when there is none, or it is no text (holds a zero byte).
TextCorpus load_text(const std::filesystem::path& path);

/// The same text as words: runs of letters, digits and apostrophes, lower case; every line's end
/// and every other character but blanks is a word of its own. 0 is a line's end, 1 any word that
/// has no number; 2 to kVocabulary - 1 are the most frequent words of the first nine tenths of the
/// text, by frequency, then by alphabet: what is held out at its end tells nothing about them.
/// @param corpus  of characters
TextCorpus to_words(const TextCorpus& corpus);

/// Text that is learnt from, and text kept apart to see what was learnt.
struct TextData {
  TextCorpus training;
  TextCorpus held_out;
};

/// The last tenth of the text is held out, rounded down.
/// @throws InputError when that leaves nothing in either part
TextData hold_out_tenth(TextCorpus corpus);

/// The corpus that ships with thinpipe, from share/thinpipe beside the folder of the running
/// program (a build folder has the same form). workloads/data/README.md gives its origin.
/// @throws InputError naming where it was looked for.
TextCorpus load_shipped_text();

}  // namespace thinpipe
