// The list of value codecs; each is defined in a file of its own.
#include "compressors/encode/value_codec.h"

#include <array>
#include <utility>

namespace thinpipe {
namespace {

using MakeValueCodec = std::unique_ptr<ValueCodec> (*)();
constexpr std::array<std::pair<const char*, MakeValueCodec>, 8> kValueCodecs = {
    {{"fp32", make_fp32_codec},
     {"fp16", make_fp16_codec},
     {"bf16", make_bf16_codec},
     {"int8", make_int8_codec},
     {"int2", make_int2_codec},
     {"exp4", make_exp4_codec},
     {"sign", make_sign_codec},
     {"mean", make_mean_codec}}};

}  // namespace

const std::vector<std::string>& value_codec_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, make] : kValueCodecs) list.emplace_back(name);
    return list;
  }();
  return names;
}

std::unique_ptr<ValueCodec> make_value_codec(const std::string& name) {
  for (const auto& [known, make] : kValueCodecs) {
    if (name == known) return make();
  }
  throw InputError("unknown value codec '" + name + "'");
}

}  // namespace thinpipe
