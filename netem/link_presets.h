// Links of networks that exist, by name, each with the source of its figures.
#pragma once

#include <span>

namespace thinpipe {

/// `--link lte` means `--link SPEC`; single keys can be set behind the name: `lte,rate=5mbit`.
struct LinkPreset {
  const char* name;
  const char* spec;    ///< as parse_link_spec() reads it
  const char* what;    ///< what it stands for
  const char* source;  ///< where the figures are from
};

std::span<const LinkPreset> link_presets();

}  // namespace thinpipe
