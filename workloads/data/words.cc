// Text as words.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "workloads/data/text_corpus.h"

namespace thinpipe {

namespace {

constexpr std::uint16_t kLineEnd = 0;
constexpr std::uint16_t kUnknown = 1;
constexpr std::size_t kFirstWord = 2;
// The character symbols that matter here (text_corpus.h).
constexpr std::uint16_t kSpaceSymbol = 0;
constexpr std::uint16_t kNewlineSymbol = 95;
constexpr std::uint16_t kTabulatorSymbol = 96;

char character_of(std::uint16_t symbol) {
  return symbol < kNewlineSymbol ? static_cast<char>(symbol + ' ') : '\x7f';
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
    if (symbol == kNewlineSymbol) {
      words.emplace_back();
    } else if (symbol != kSpaceSymbol && symbol != kTabulatorSymbol) {
      words.emplace_back(1, c);
    }
  }
  end_word();
  return words;
}

}  // namespace

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
  for (std::size_t i = 0; i < ranked.size() && kFirstWord + i < kVocabulary; ++i) {
    numbers[ranked[i].first] = static_cast<std::uint16_t>(kFirstWord + i);
  }
  TextCorpus result;
  result.source = corpus.source + ", as words";
  result.symbols.reserve(words.size());
  for (const std::string& word : words) {
    const auto found = numbers.find(word);
    result.symbols.push_back(found == numbers.end() ? kUnknown : found->second);
  }
  return result;
}

}  // namespace thinpipe
