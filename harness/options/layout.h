// Wrapping text to the width of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thinpipe {

/// Help and human tables fit this many columns, as terminals and mails have had since punch cards.
inline constexpr std::size_t kColumns = 80;

/// Breaks `text` at blanks so that no line exceeds `columns` (a longer word stands alone). Blank
/// lines separate paragraphs. Every line but the first is indented by `indent` blanks; the first
/// one is, too, when `first_indent` says so. No newline at the end.
std::string wrap(std::string_view text, std::size_t indent, std::size_t columns = kColumns,
                 bool first_indent = true);

/// Two columns: `left` from column 2, `right` wrapped from column `start`; on the next line where
/// `left` is too long. Ends with a newline.
std::string two_columns(std::string_view left, std::string_view right, std::size_t start,
                        std::size_t columns = kColumns);

/// A line of a message as a stream should show it, in visible_text(): on a terminal folded at its
/// width, later lines indented by two, words that are longer broken behind commas.
std::string for_stream(int descriptor, std::string_view text);

}  // namespace thinpipe
