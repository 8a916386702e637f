// Files for print from what reports draw, by programs that are not thinpipe's.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace thinpipe {

/// Chromium under one of the names that systems give it; nothing where there is none in PATH.
std::optional<std::filesystem::path> find_chromium();

/// Writes an SVG document as it is (`svg`), or by rsvg-convert as `pdf` or as `png` with three
/// pixels to one of its units. The file appears whole or not at all; `scratch` is a folder for what
/// lies between. A program that is under way is told of stop signals (netem/sandbox.h).
/// @throws RunError without rsvg-convert, saying what to install, or when it fails; SystemError
void write_figure(const std::string& svg, const std::string& format,
                  const std::filesystem::path& scratch, const std::filesystem::path& file);

/// Prints a page by Chromium without a window, with a profile of its own in `scratch`. As
/// write_figure(). @throws RunError without Chromium, saying what to install, or when it fails
void write_page_pdf(const std::string& html, const std::filesystem::path& scratch,
                    const std::filesystem::path& file);

}  // namespace thinpipe
