// Paths and names of imported files: the step, rank and tensor in a path, the selection of tensors,
// and their renaming.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace thinpipe {

/// Step, rank and tensor of a path. A part that the pattern does not contain is 0 or "".
struct PathParts {
  std::uint64_t step = 0;
  std::uint64_t rank = 0;
  std::string tensor;
};

/// Pattern of a path relative to the imported folder, with `/` between folders. {step} and {rank}
/// match all consecutive digits, {tensor} matches a name, and * matches any text. None of these
/// four matches `/`. Examples: "{step}/{rank}/{tensor}.npy", "*r{rank}_gradients_iter_{step}.npy".
class PathPattern {
 public:
  /// @throws InputError for an unknown or repeated name in braces, or an empty pattern.
  explicit PathPattern(const std::string& text);

  /// Returns the step, rank and tensor in a path. Returns nothing if the path does not match or a
  /// number has more than 18 digits. In {tensor}, each %XX (two hexadecimal digits) is decoded to a
  /// byte, because `trace export` encodes bytes so.
  std::optional<PathParts> match(const std::string& path) const;

  bool names_tensors() const;

 private:
  enum class Kind { kLiteral, kStep, kRank, kTensor, kAnything };
  struct Piece {
    Kind kind;
    std::string literal;
  };
  bool match_from(const std::string& path, std::size_t piece, std::size_t at, PathParts& parts,
                  std::vector<bool>& failed) const;

  std::string text_;
  std::vector<Piece> pieces_;
};

/// Returns `name` in a form that can be part of a path. Every byte except letters, digits, '.', '_'
/// and '-' is written as %XX.
std::string escaped_file_name(const std::string& name);

/// Rules that rename tensors: pairs of an old and a new name. A * in the old name matches any text,
/// and this text replaces the * in the new name. For example, the pair "module.*" and "*" removes
/// the prefix "module.".
using Renames = std::vector<std::pair<std::string, std::string>>;

/// Parses texts of the form "OLD=NEW". @throws InputError
Renames parse_renames(const std::vector<std::string>& texts);

/// Returns the new name by the first pair that matches, or `name` if none does.
std::string renamed(const std::string& name, const Renames& renames);

/// Returns whether a glob matches, or there are no globs.
bool is_wanted(const std::string& name, const std::vector<std::string>& globs);

}  // namespace thinpipe
