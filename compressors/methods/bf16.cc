// Every element as a 16-bit float: the upper half of a binary32.
#include "compressors/methods/half.h"

namespace thinpipe {
namespace {

const Registration kBf16{
    half_method("bf16", "every element as a 16-bit float, the upper half of a binary32",
                ElementType::kBfloat16)};

}  // namespace
}  // namespace thinpipe
