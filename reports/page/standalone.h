// A figure of a page as a file of its own, for a paper or slides.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thinpipe::html {

/// The ids of the figures in a page, in its order; empty where it has none.
std::vector<std::string> figure_names(std::string_view page);

/// The figure that a name means: that of the name, or the only one that ends in it after a dash, as
/// `step-time` means `g0-step-time` where points make one group.
/// @throws InputError where there is none or several, with their names
std::string figure_called(std::string_view page, const std::string& name);

/// The figure of that name as one SVG document: title of each drawing, legend, drawings; in the
/// colours of light pages, without styles that only browsers know. `page` is what html::document()
/// made. @throws InputError as figure_called()
std::string standalone_svg(std::string_view page, const std::string& name);

/// A drawing (markup) of that size as an SVG document in those colours, with a margin.
/// @param title  what it shows, for who cannot see it; plain text, may be empty
std::string standalone_document(double width, double height, const std::string& title,
                                const std::string& body);

}  // namespace thinpipe::html
