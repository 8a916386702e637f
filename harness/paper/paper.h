// Files for print from what reports draw, by programs that are not thinpipe's.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace thinpipe {

/// Chromium under one of the names that systems give it; nothing where there is none in PATH.
std::optional<std::filesystem::path> find_chromium();

/// Writes an SVG document to `file`: unchanged (`svg`), or converted by rsvg-convert (`pdf`,
/// `png`). A PNG has three pixels for each unit of the SVG. The file appears whole or not at all.
/// `scratch` is a folder for intermediate files. Stop signals are passed on to a running
/// rsvg-convert (netem/sandbox.h).
/// @throws RunError without rsvg-convert, saying what to install, or when it fails; SystemError
void write_figure(const std::string& svg, const std::string& format,
                  const std::filesystem::path& scratch, const std::filesystem::path& file);

/// Prints a page as PDF by headless Chromium, with a browser profile of its own in `scratch`.
/// Otherwise works as write_figure(). @throws RunError without Chromium, saying what to install, or
/// when it fails
void write_page_pdf(const std::string& html, const std::filesystem::path& scratch,
                    const std::filesystem::path& file);

}  // namespace thinpipe
