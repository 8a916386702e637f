// The position codecs by name.
#include "compressors/encode/position_codec.h"

#include <functional>
#include <utility>

namespace thinpipe {
namespace {

using MakePositionCodec = std::unique_ptr<PositionCodec> (*)();
constexpr std::pair<const char*, MakePositionCodec> kPositionCodecs[] = {
    {"raw32", make_raw32_codec},
    {"index28", make_index28_codec},
    {"bitmap", make_bitmap_codec},
    {"golomb", make_golomb_codec},
    {"elias_gamma", make_elias_gamma_codec},
    {"elias_delta", make_elias_delta_codec},
    {"packed", make_packed_codec},
    {"run16", make_run16_codec}};

}  // namespace

const std::vector<std::string>& position_codec_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, make] : kPositionCodecs) list.emplace_back(name);
    return list;
  }();
  return names;
}

std::unique_ptr<PositionCodec> make_position_codec(const std::string& name) {
  for (const auto& [known, make] : kPositionCodecs) {
    if (name == known) return make();
  }
  throw InputError("unknown position codec '" + name + "'");
}

}  // namespace thinpipe
