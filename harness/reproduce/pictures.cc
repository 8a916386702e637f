#include "harness/reproduce/pictures.h"

#include <algorithm>

#include "base/error.h"
#include "compressors/spec.h"

namespace thinpipe {

ReproductionPicture empty_picture(const std::string& id, const std::string& alt,
                                  const std::string& x, const std::string& y, bool log) {
  ReproductionPicture picture;
  picture.chart.id = id;
  picture.chart.alt = alt;
  picture.chart.width = 640;
  picture.chart.x = {x, log, format_plain, {}, {}};
  picture.chart.y = {y, log, format_plain, {}, {}};
  return picture;
}

void add_points(ReproductionPicture& picture, const std::string& name, const std::vector<double>& x,
                const std::vector<double>& y) {
  constexpr std::size_t kMostMarkers = 40;
  Curve curve{.style = picture.chart.curves.size() + 1,
              .has_markers = x.size() <= kMostMarkers,
              .points = {},
              .name = name};
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    curve.points.push_back({x[i], y[i], std::nullopt, true, name});
  if (curve.points.empty()) return;
  picture.chart.curves.push_back(std::move(curve));
  picture.names.push_back(name);
}

void add_line(ReproductionPicture& picture, const std::string& name,
              const std::vector<double>& values) {
  constexpr std::size_t kMostPoints = 200;
  const std::size_t stride = std::max<std::size_t>(1, values.size() / kMostPoints);
  std::vector<double> x, y;
  for (std::size_t i = 0; i < values.size(); i += stride) {
    x.push_back(static_cast<double>(i + 1));
    y.push_back(values[i]);
  }
  add_points(picture, name, x, y);
}

std::string spec_value(const std::string& spec, const std::string& key, const std::string& before) {
  try {
    const Spec parsed = parse_spec(spec);
    const auto found = parsed.values.find(key);
    return found == parsed.values.end() ? "" : before + found->second;
  } catch (const InputError&) {
    return "";
  }
}

}  // namespace thinpipe
