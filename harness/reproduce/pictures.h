// Pictures of recipes: lines of numbers from records.
#pragma once

#include <string>
#include <vector>

#include "reports/reproduction/pick.h"
#include "reports/reproduction/reproduction.h"

namespace thinpipe {

/// @param log  both axes
ReproductionPicture empty_picture(const std::string& id, const std::string& alt,
                                  const std::string& x, const std::string& y, bool log);

/// A line through (1, values[0]), (2, values[1]), ...; of many values some, at even distances.
void add_line(ReproductionPicture& picture, const std::string& name,
              const std::vector<double>& values);
/// A line through these points, with markers.
void add_points(ReproductionPicture& picture, const std::string& name, const std::vector<double>& x,
                const std::vector<double>& y);

/// What a spec says of a key, with words before it: "s=1.75"; "" where it does not say.
std::string spec_value(const std::string& spec, const std::string& key, const std::string& before);

}  // namespace thinpipe
