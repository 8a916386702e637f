// Runs gnuplot as a child process.
#pragma once

#include <string>
#include <string_view>

namespace thinpipe {

/// Feeds `script` to gnuplot's standard input and returns what it wrote to its standard output. No
/// shell is involved and the user's gnuplot start-up files are not read. Throws RunError when there
/// is no gnuplot on PATH (saying what to install) or when it fails (with its first complaint).
std::string run_gnuplot(const std::string& script);

/// The data of a `plot` command, a block and an entry for each way of drawing.
struct GnuplotBlocks {
  std::string blocks, commands;
  int count = 0;

  /// `rows` end in line ends; without any nothing is added. `how` is what follows the block's name:
  /// "using 1:2 with lines".
  void add(const std::string& rows, const std::string& how);
  /// The blocks and the command that plots them.
  std::string script() const { return blocks + "plot " + commands + "\n"; }
};

/// `text` as a gnuplot string literal: line ends become spaces, quotes typographic apostrophes.
std::string gnuplot_quoted(std::string_view text);

}  // namespace thinpipe
