#include "workloads/data/text_corpus.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "workloads/trace/mapped_file.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

// Symbols of characters.
constexpr std::uint16_t kSpace = 0;
constexpr std::uint16_t kNewline = 95;
constexpr std::uint16_t kTabulator = 96;
constexpr std::uint16_t kOther = 97;
// Symbols of words.
constexpr std::uint16_t kLineEnd = 0;
constexpr std::uint16_t kUnknown = 1;
constexpr std::size_t kFirstWord = 2;
constexpr const char* kShippedName = "kjv.txt";

void append_file(const fs::path& path, std::vector<std::uint16_t>& symbols) {
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos)
    throw InputError(fmt::format("{}: byte {} is zero; expected plain text", path.string(), zero));
  const auto more = to_symbols(text);
  symbols.insert(symbols.end(), more.begin(), more.end());
}

// The folder this program runs from; empty where /proc does not tell.
fs::path program_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

char character_of(std::uint16_t symbol) {
  return symbol < kNewline ? static_cast<char>(symbol + ' ') : '\x7f';
}

bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '\'';
}

// "" stands for a line's end.
std::vector<std::string> words_of(const std::vector<std::uint16_t>& symbols) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::exchange(word, {}));
  };
  for (const std::uint16_t symbol : symbols) {
    const char c = character_of(symbol);
    if (in_word(c)) {
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      continue;
    }
    end_word();
    if (symbol == kNewline) {
      words.emplace_back();
    } else if (symbol != kSpace && symbol != kTabulator) {
      words.emplace_back(1, c);
    }
  }
  end_word();
  return words;
}

}  // namespace

std::vector<std::uint16_t> to_symbols(std::string_view text) {
  std::vector<std::uint16_t> symbols;
  symbols.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      symbols.push_back(kNewline);
    } else if (c == '\t') {
      symbols.push_back(kTabulator);
    } else if (c >= ' ' && c <= '~') {
      symbols.push_back(static_cast<std::uint16_t>(c - ' '));
    } else if (!continues_character(c) &&
               !(c == '\r' && i + 1 < text.size() && text[i + 1] == '\n')) {
      symbols.push_back(kOther);
    }
  }
  return symbols;
}

TextCorpus load_text(const fs::path& path) {
  std::vector<fs::path> files;
  if (fs::is_directory(path)) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(path, error)) {
      if (entry.path().extension() == ".txt") files.push_back(entry.path());
    }
    if (error) throw InputError(path.string() + ": " + error.message());
    if (files.empty()) throw InputError(path.string() + ": no *.txt file in this folder");
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(path);
  }
  TextCorpus corpus;
  for (const fs::path& file : files) append_file(file, corpus.symbols);
  corpus.source = fmt::format("plain text ({} file{})", files.size(), files.size() == 1 ? "" : "s");
  return corpus;
}

TextCorpus load_shipped_text() {
  // bin/ or libexec/thinpipe/ beside share/.
  const fs::path prefix = program_folder().parent_path();
  for (const fs::path& root : {prefix, prefix.parent_path()}) {
    const fs::path path = root / "share" / "thinpipe" / kShippedName;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) continue;
    TextCorpus corpus = load_text(path);
    corpus.source = "King James Bible: Genesis, Job, Proverbs, Ecclesiastes";
    return corpus;
  }
  throw InputError(fmt::format(
      "{}: missing (the build or the installation is incomplete); name a text with --data",
      (prefix / "share" / "thinpipe" / kShippedName).string()));
}

TextCorpus to_words(const TextCorpus& corpus) {
  const std::vector<std::string> words = words_of(corpus.symbols);
  const std::size_t known = words.size() - words.size() / 10;
  std::map<std::string, std::size_t> counts;
  for (std::size_t i = 0; i < known; ++i) ++counts[words[i]];
  counts.erase("");
  std::vector<std::pair<std::string, std::size_t>> ranked(counts.begin(), counts.end());
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::map<std::string, std::uint16_t> numbers = {{"", kLineEnd}};
  for (std::size_t i = 0; i < ranked.size() && kFirstWord + i < kVocabulary; ++i)
    numbers[ranked[i].first] = static_cast<std::uint16_t>(kFirstWord + i);
  TextCorpus result;
  result.source = corpus.source + ", as words";
  result.symbols.reserve(words.size());
  for (const std::string& word : words) {
    const auto found = numbers.find(word);
    result.symbols.push_back(found == numbers.end() ? kUnknown : found->second);
  }
  return result;
}

TextData hold_out_tenth(TextCorpus corpus) {
  const std::size_t held_out = corpus.symbols.size() / 10;
  if (held_out == 0)
    throw InputError(fmt::format("data: {} symbols of text, expected at least 10 to hold some out",
                                 corpus.symbols.size()));
  const auto border = corpus.symbols.end() - static_cast<std::ptrdiff_t>(held_out);
  TextData data{corpus, corpus};
  data.training.symbols.assign(corpus.symbols.begin(), border);
  data.held_out.symbols.assign(border, corpus.symbols.end());
  data.training.source += ", without the last tenth";
  data.held_out.source += ", the last tenth";
  return data;
}

}  // namespace thinpipe
