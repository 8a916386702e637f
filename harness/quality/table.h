// What compressors keep of a trace, for people.
#pragma once

#include <cstddef>
#include <string>

#include "harness/quality/offline.h"

namespace thinpipe {

/// The width that the table keeps to, but for names that are longer alone.
inline constexpr std::size_t kQualityColumns = 100;

/// What has rows of its own beside each compressor.
enum class QualityRows { kTotal, kTensors, kSteps, kTensorSteps };

/// The names of the columns; two lines.
std::string quality_heading();
/// A compressor and what is asked for of it. A name that is too long for its column has a line of
/// its own.
std::string quality_lines(const CompressorQuality& quality, QualityRows rows);

}  // namespace thinpipe
