// Which step, rank and tensor a file is of, by its path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace thinpipe {

/// What a path says. What the pattern does not ask for is 0, or "".
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
  const std::string& text() const { return text_; }

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

}  // namespace thinpipe
