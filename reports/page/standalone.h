// A figure of a page as a separate file, for a paper or slides.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thinpipe::html {

/// Returns the ids of the figures in a page, in its order; may be empty.
std::vector<std::string> figure_names(std::string_view page);

/// Returns the id of the figure that `name` selects. `name` is the id itself, or the end of a
/// single id after a dash: `step-time` selects `g0-step-time` in a report of one group.
/// @throws InputError where no id or several ids match, with their names
std::string figure_called(std::string_view page, const std::string& name);

/// Returns the figure as one SVG document: titles, legend and drawings, in the colours of light
/// pages and without styles that only browsers support. `page` is the result of html::document().
/// @throws InputError as figure_called()
std::string standalone_svg(std::string_view page, const std::string& name);

/// Returns a drawing (markup) of this size as an SVG document in the colours of light pages, with a
/// margin. @param title  description for screen readers; plain text, may be empty
std::string standalone_document(double width, double height, const std::string& title,
                                const std::string& body);

}  // namespace thinpipe::html
