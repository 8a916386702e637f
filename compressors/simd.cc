// Translates Highway's bit masks to names.
#include "compressors/simd.h"

#include <cctype>
#include <cstdint>

#include "base/error.h"
#include "base/text.h"
#include "hwy/highway.h"

namespace thinpipe {
namespace {

std::string name_of(std::int64_t target) {
  std::string name = hwy::TargetName(target);
  for (char& letter : name) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return name;
}

// Returns the targets that the CPU has, whatever was chosen before. Lower bits are better targets.
const std::vector<std::int64_t>& supported() {
  static const std::vector<std::int64_t> kSupported = [] {
    hwy::SetSupportedTargetsForTest(0);
    return hwy::SupportedAndGeneratedTargets();
  }();
  return kSupported;
}

}  // namespace

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const std::int64_t target : supported()) names.push_back(name_of(target));
  return names;
}

std::string simd_target() {
  supported();  // first, because its first call resets the mask
  return name_of(hwy::SupportedAndGeneratedTargets().front());
}

void set_simd_target(const std::string& name) {
  if (name == "best") return hwy::SetSupportedTargetsForTest(0);
  std::string known;
  for (const std::int64_t target : supported()) {
    if (name == name_of(target)) return hwy::SetSupportedTargetsForTest(target);
    known += " " + name_of(target);
  }
  std::vector<std::string> names = simd_targets();
  names.emplace_back("best");
  throw InputError("unknown SIMD instruction set " + in_quotes(name) + "; this CPU has best" +
                   known + did_you_mean(name, names));
}

}  // namespace thinpipe
