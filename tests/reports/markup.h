// A small strict checker of well-formed XML elements, for SVG that has to stand in a page.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe::sample {

struct Markup {
  std::string error;                 ///< "" when well-formed
  std::vector<std::string> ids;      ///< of all elements, in order
  std::set<std::string> references;  ///< the targets of href="#…"
  std::vector<std::string> titles;   ///< the text of <title> elements, still escaped
};

/// Checks tags, nesting, quoted and distinct attributes, and that text and values have neither a
/// bare
/// '<' nor a bare '&'.
Markup check_markup(std::string_view text);

}  // namespace thinpipe::sample
