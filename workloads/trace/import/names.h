// Paths and names of imported files: which step, rank and tensor a path means, which tensors to
// take, and other names for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace thinpipe {

/// The parts of a path. A part that the pattern does not ask for is 0, or "".
struct PathParts {
  std::uint64_t step = 0;
  std::uint64_t rank = 0;
  std::string tensor;
};

/// A path relative to the imported folder, parts separated by `/`, in which {step} and {rank} stand
/// for digits (all that stand there), {tensor} for a name, and * for anything; none of them for
/// `/`.
/// "{step}/{rank}/{tensor}.npy", "*r{rank}_gradients_iter_{step}.npy".
class PathPattern {
 public:
  /// @throws InputError for an unknown or repeated name in braces, or an empty pattern.
  explicit PathPattern(const std::string& text);

  /// Nothing where the path is not of this pattern, or a number has more than 18 digits. In
  /// {tensor}, %XX (two hexadecimal digits) stands for a byte, as `trace export` writes it.
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

/// `name` as a part of a path: every byte but letters, digits, '.', '_' and '-' as %XX.
std::string escaped_file_name(const std::string& name);

/// Pairs of an old name and a new one. A * in the old stands for anything, and is kept where the
/// new one has a *: "module.*" and "*" cut a prefix off.
using Renames = std::vector<std::pair<std::string, std::string>>;

/// @param texts "OLD=NEW". @throws InputError
Renames parse_renames(const std::vector<std::string>& texts);

/// `name` by the first that fits; else itself.
std::string renamed(const std::string& name, const Renames& renames);

/// Whether one of the globs fits, or there is none.
bool is_wanted(const std::string& name, const std::vector<std::string>& globs);

}  // namespace thinpipe
