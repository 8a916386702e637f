#include "workloads/trace/import/names.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {
namespace {

constexpr std::size_t kMaxDigits = 18;  // fits 64 bits

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hexadecimal(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::string unescaped(const std::string& text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hexadecimal(text[i + 1]) : -1;
    const int low = high >= 0 ? hexadecimal(text[i + 2]) : -1;
    if (low < 0) {
      name += text[i];
      continue;
    }
    name += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return name;
}

}  // namespace

PathPattern::PathPattern(const std::string& text) : text_(text) {
  static const std::map<std::string, Kind> kKinds = {
      {"step", Kind::kStep}, {"rank", Kind::kRank}, {"tensor", Kind::kTensor}};
  std::string literal;
  const auto add = [&](Kind kind) {
    if (!literal.empty()) pieces_.push_back({Kind::kLiteral, std::exchange(literal, "")});
    const auto same = [&](const Piece& piece) { return piece.kind == kind; };
    if (kind != Kind::kAnything && std::any_of(pieces_.begin(), pieces_.end(), same)) {
      throw InputError(fmt::format("pattern '{}': a name in braces appears twice", text_));
    }
    pieces_.push_back({kind, ""});
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '*') {
      add(Kind::kAnything);
    } else if (text[i] != '{') {
      literal += text[i];
    } else {
      const std::size_t end = text.find('}', i);
      const std::string name = end == std::string::npos ? "" : text.substr(i + 1, end - i - 1);
      const auto kind = kKinds.find(name);
      if (kind == kKinds.end()) {
        throw InputError(
            fmt::format("pattern '{}': expected {{step}}, {{rank}} or {{tensor}}, found '{}'",
                        text_, printable(text.substr(i, 16))));
      }
      add(kind->second);
      i = end;
    }
  }
  if (!literal.empty()) pieces_.push_back({Kind::kLiteral, literal});
  if (pieces_.empty()) throw InputError("pattern: empty");
}

bool PathPattern::names_tensors() const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [](const Piece& piece) { return piece.kind == Kind::kTensor; });
}

std::optional<PathParts> PathPattern::match(const std::string& path) const {
  PathParts parts;
  // Whether the remainder of a path matches the remainder of the pattern depends only on the
  // position in the path and the position in the pattern. Each pair of positions is therefore tried
  // once. A pair tries at most all later positions of the path, so the time grows at most with the
  // number of the pattern's pieces times the square of the path's length.
  std::vector<bool> failed(pieces_.size() * (path.size() + 1));
  if (!match_from(path, 0, 0, parts, failed)) return std::nullopt;
  return parts;
}

bool PathPattern::match_from(const std::string& path, std::size_t piece, std::size_t at,
                             PathParts& parts, std::vector<bool>& failed) const {
  if (piece == pieces_.size()) return at == path.size();
  const std::size_t key = piece * (path.size() + 1) + at;
  if (failed[key]) return false;
  const auto& [kind, literal] = pieces_[piece];
  bool matched = false;
  if (kind == Kind::kLiteral) {
    matched = path.compare(at, literal.size(), literal) == 0 &&
              match_from(path, piece + 1, at + literal.size(), parts, failed);
  } else if (kind == Kind::kStep || kind == Kind::kRank) {
    std::size_t end = at;
    std::uint64_t value = 0;
    // The number takes all consecutive digits: a * before it must not end with a digit.
    const bool cut =
        piece > 0 && pieces_[piece - 1].kind != Kind::kLiteral && at > 0 && is_digit(path[at - 1]);
    while (!cut && end < path.size() && is_digit(path[end]) && end - at <= kMaxDigits) {
      value = value * 10 + static_cast<std::uint64_t>(path[end++] - '0');
    }
    if (end > at && end - at <= kMaxDigits) {
      (kind == Kind::kStep ? parts.step : parts.rank) = value;
      matched = match_from(path, piece + 1, end, parts, failed);
    }
  } else {
    std::size_t end = std::min(path.find('/', at), path.size());
    const std::size_t least = at + (kind == Kind::kTensor ? 1 : 0);
    for (; !matched && end >= least && end != std::string::npos; --end) {
      matched = match_from(path, piece + 1, end, parts, failed);
      if (matched && kind == Kind::kTensor) parts.tensor = unescaped(path.substr(at, end - at));
      if (end == 0) break;
    }
  }
  if (!matched) failed[key] = true;
  return matched;
}

std::string escaped_file_name(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (std::isalnum(byte) != 0 || c == '_' || c == '-' ||
                                       (c == '.' && !text.empty()));
    text += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return text;
}

Renames parse_renames(const std::vector<std::string>& texts) {
  Renames renames;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const auto stars = [](const std::string& part) {
      return std::count(part.begin(), part.end(), '*');
    };
    if (equals == std::string::npos || equals == 0) {
      throw InputError(fmt::format("rename '{}': expected OLD=NEW", printable(text)));
    }
    renames.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    const auto& [from, to] = renames.back();
    if (stars(from) > 1 || stars(to) > stars(from)) {
      throw InputError(fmt::format(
          "rename '{}': expected at most one * in OLD, and one in NEW only if OLD has one",
          printable(text)));
    }
  }
  return renames;
}

std::string renamed(const std::string& name, const Renames& renames) {
  for (const auto& [from, to] : renames) {
    const std::size_t star = from.find('*');
    if (star == std::string::npos) {
      if (name == from) return to;
      continue;
    }
    const std::string before = from.substr(0, star), after = from.substr(star + 1);
    if (name.size() < before.size() + after.size() || !name.starts_with(before) ||
        !name.ends_with(after)) {
      continue;
    }
    const std::string middle =
        name.substr(before.size(), name.size() - before.size() - after.size());
    const std::size_t place = to.find('*');
    return place == std::string::npos ? to : std::string(to).replace(place, 1, middle);
  }
  return name;
}

bool is_wanted(const std::string& name, const std::vector<std::string>& globs) {
  return globs.empty() || std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
           return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
         });
}

}  // namespace thinpipe
