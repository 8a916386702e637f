// Columns of compressors alone: how long they take.
#include "reports/reproduction/columns.h"
#include "reports/reproduction/pick.h"
#include "reports/text/units.h"

namespace thinpipe::columns {
namespace {

MeasuredCell encode_samples(const std::vector<const Point*>& points) {
  MeasuredCell cell = values_of(points, repeat_of, [](const Point&) { return std::nullopt; });
  for (const Point* point : points)
    for (const double seconds : point->samples("encode_time"))
      cell.repetitions.push_back({cell.repetitions.size(), seconds});
  return cell;
}

// "0.01" of "topk:memory=none,ratio=0.01"; the whole spec is in the record.
std::string ratio_in(const std::string& compressor) {
  const std::size_t start = compressor.find("ratio=");
  if (start == std::string::npos) return "";
  return compressor.substr(start, compressor.find(',', start) - start);
}

}  // namespace

ReproductionColumn encode_time() {
  return {"encode", format_time, [](const ArmRecords& arm, const std::string& compressor) {
            return encode_samples(points_of(arm, compressor));
          }};
}

ReproductionColumn encode_speed_up(const std::string& over) {
  return {
      "encode, speed-up over " + over, format_times,
      [over](const ArmRecords& arm, const std::string& compressor) {
        MeasuredCell cell = encode_samples(points_of(arm, compressor));
        std::vector<const Point*> others;
        for (const Point& point : arm.records.points)
          if (point.axes.method == over && ratio_in(point.axes.compressor) == ratio_in(compressor))
            others.push_back(&point);
        MeasuredCell ratio;
        ratio.is_ratio = true;
        ratio.complaints = cell.complaints;
        // Repetitions are in random order: which is held against which does not matter.
        for (const PairedValue& pair : paired(encode_samples(others), cell))
          ratio.repetitions.push_back({ratio.repetitions.size(), pair.first / pair.second});
        return ratio;
      }};
}

}  // namespace thinpipe::columns
